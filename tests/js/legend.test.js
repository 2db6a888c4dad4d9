/** The legends: every mark of a picture has an item, every item has a mark, and a chosen mark is painted alone. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import test from "node:test";
import { URL } from "node:url";
import { SELF_EXPLAINING, onlyChosen, paintWithChosen } from "../../static/js/render/marks.js";
import { PROTOCOLS } from "../../static/js/protocols/table.js";

const SOURCES = new URL("../../static/js/", import.meta.url);
const read = (path) => readFileSync(new URL(path, SOURCES), "utf8");

/** The kinds that a module names: in calls of `markAs`, and in tables whose values are kinds. */
function kindsIn(text) {
  const calls = [...text.matchAll(/markAs\(context, ([^;\n]*)\);/g)].map(([, given]) => given);
  const literal = calls.flatMap((given) => [...given.matchAll(/"([a-z0-9-]+)"/g)].map(([, kind]) => kind));
  const table = [...text.matchAll(/const MARKS_OF_\w+ = \{([^}]*)\}/g)].flatMap(([, rows]) => [...rows.matchAll(/: "([a-z0-9-]+)"/g)].map(([, kind]) => kind));
  return [...literal, ...table].filter((kind) => !SELF_EXPLAINING.includes(kind));
}

/** The values of a table that a module declares. */
const valuesIn = (path, pattern, each) => [...read(path).match(pattern)[1].matchAll(each)].map(([, value]) => value);

/** Kinds that are composed of a state or shape, by module. */
const COMPOSED = {
  "protocols/pulsar/render/threads.js": valuesIn("protocols/pulsar/render/threads.js", /const LOOKS = \{([\s\S]*?)\n\};/, /^ {2}"?([a-z-]+)"?: /gm).map((state) => `thread-${state}`),
  "protocols/emqx/render/group_nodes.js": [...valuesIn("protocols/emqx/render/group_nodes.js", /const SHAPE_OF = \{([\s\S]*?)\n\};/, /: "([a-z_]+)"/g), "dot"].map((shape) => `flight-${shape}`),
};

const SHARED = { pulsar: ["render/cone.js", "render/time_axes.js"], emqx: ["render/time_axes.js"] };

function drawnBy(protocol) {
  const folder = `protocols/${protocol}/render/`;
  const modules = [...readdirSync(new URL(folder, SOURCES)).map((name) => folder + name), ...SHARED[protocol]];
  return new Set(modules.flatMap((path) => [...kindsIn(read(path)), ...(COMPOSED[path] ?? [])]));
}

/** A context that counts paint operations by the mark that is set, and keeps every other property. */
function paintingContext() {
  const painted = new Map();
  const paint = () => painted.set(context.mark, (painted.get(context.mark) ?? 0) + 1);
  const methods = Object.fromEntries(["fill", "stroke", "fillRect", "strokeRect", "fillText", "strokeText"].map((name) => [name, paint]));
  const context = new Proxy({ mark: "none", measureText: (text) => ({ width: text.length }), ...methods }, { get: (target, name) => target[name] ?? (() => {}) });
  return { context, painted };
}

const INK = Object.fromEntries(["bg", "sunk", "raise", "line", "strong", "ink", "ink2", "ink3", "proto", "soft", "wash", "harm", "harmSoft", "harmWash"].map((name) => [name, "#888888"]));
const theme = { origin: ["#111111", "#222222", "#333333", "#444444"], done: ["#aaaaaa", "#bbbbbb", "#cccccc", "#dddddd"], ink: INK, scale: 1, label: 11, rail: 3, thread: 1.5, sans: "sans" };

for (const { name, legend } of PROTOCOLS) {
  test(`the legend of ${name} has an item for each mark, and each item a mark`, () => {
    const drawn = drawnBy(name);
    const listed = new Set(legend.flatMap(({ marks }) => marks));
    assert.ok(drawn.size > 25, "the patterns find the marks");
    assert.deepEqual([...drawn].filter((kind) => !listed.has(kind)).sort(), [], "these marks have no item in the legend");
    assert.deepEqual([...listed].filter((kind) => !drawn.has(kind)).sort(), [], "nothing draws these marks");
    assert.equal(new Set(legend.map(({ words }) => words)).size, legend.length, "two items have the same words");
  });

  test(`each item of the legend of ${name} paints itself and says what its mark means`, () => {
    for (const item of legend) {
      const { context, painted } = paintingContext();
      item.draw(context, { theme, clusters: ["a", "b", "c"] });
      assert.ok(painted.size > 0, `${item.words} draws nothing`);
      assert.match(item.says, /^[A-Z].*\.$/, item.words);
    }
  });
}

test("a chosen mark is painted alone over a veil, and its operations are counted", () => {
  const { context, painted } = paintingContext();
  const chosen = { marks: new Set(["rail"]), drawn: {} };
  let rounds = 0;
  const result = paintWithChosen(context, { width: 10, height: 10, ground: "#ffffff", part: "lanes", chosen }, (given) => {
    rounds += 1;
    for (const kind of ["rail", "wash"]) {
      given.mark = kind;
      given.fillRect(0, 0, 1, 1);
    }
    return rounds;
  });
  assert.equal(result, 1, "what the whole picture returned");
  assert.equal(rounds, 2);
  assert.equal(painted.get("rail"), 2);
  assert.equal(painted.get("wash"), 2, "in the whole picture, and the veil");
  assert.deepEqual(chosen.drawn, { lanes: 1 });
});

test("without a choice the picture is painted once", () => {
  const { context, painted } = paintingContext();
  paintWithChosen(context, { width: 10, height: 10, ground: "#ffffff", part: "lanes", chosen: null }, (given) => given.fillRect(0, 0, 1, 1));
  assert.equal(painted.get("none"), 1);
});

test("a context with a chosen mark measures and keeps settings as the real one", () => {
  const { context } = paintingContext();
  const only = onlyChosen(context, { marks: new Set(["rail"]), drawn: {} }, "lanes");
  only.font = "12px sans";
  assert.equal(context.font, "12px sans");
  assert.equal(only.measureText("abcd").width, 4);
});
