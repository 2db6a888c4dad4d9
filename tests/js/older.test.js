/** Older cells are loaded as tiles and inserted before those held. */

import assert from "node:assert/strict";
import test from "node:test";
import { appendCells, identityOf, prependCells } from "../../static/js/protocols/pulsar/model/cells.js";
import { makeNames } from "../../static/js/model/names.js";
import { olderCells } from "../../static/js/protocols/pulsar/model/older_cells.js";
import { reduce, whatIsWatched } from "../../static/js/model/reduce.js";
import { emptyLab } from "../../static/js/model/state.js";
import { ACKED, makeEntryFlags, UNKNOWN } from "../../static/js/protocols/pulsar/model/entry_flags.js";
import { makeTiles } from "../../static/js/protocols/pulsar/model/tiles.js";
import { forRuns } from "../../static/js/protocols/pulsar/layout/strip.js";
import { cells, cursor, frame, topic, view, welcome } from "./fixtures/lab.js";

test("a tile's cells are inserted before those held, and overlapping cells are skipped", () => {
  const names = makeNames();
  const held = appendCells(undefined, cells("bb", { first: 6 }), names);
  const grown = prependCells(held, cells("aaaaab", { first: 2 }), names);
  assert.deepEqual([grown.first, grown.count], [2, 6]);
  assert.deepEqual([...grown.columns.kind.subarray(0, 6)], [0, 0, 0, 0, 1, 1]);
  assert.equal(identityOf(grown.columns, 4), identityOf(held.columns, 0), "names keep their numbers");
  assert.equal(held.count, 2, "the older store is as it was");
  assert.equal(prependCells(held, cells("aa", { first: 1 }), names), held, "a tile that does not reach leaves a hole and is left aside");
  const after = appendCells(grown, cells("a", { first: 8 }), names);
  assert.equal(after.count, 7);
});

const shown = () => view({ a: topic(700, { billing: cursor() }), b: topic(700, { billing: cursor() }) });

test("cells that the window needs are requested tile by tile and used on the same branch only", () => {
  let state = [welcome(), frame(1, { view: shown(), cells: { "a/orders": cells("aa", { first: 698 }) } })].reduce(reduce, emptyLab());
  const asked = [];
  const tiles = { entries: (which) => (asked.push(which.index), which.index === 1 ? cells("a".repeat(188), { first: 512 }) : null) };
  const scene = { watched: { topic: "orders" }, lanes: { a: { strip: { from: 100, to: 700 } }, b: { strip: { from: 100, to: 700 } } } };
  const [older] = olderCells(scene, state, tiles);
  assert.deepEqual(asked, [1, 0], "the next one, too");
  state = reduce(state, older);
  assert.deepEqual([state.cells["a/orders"].first, state.cells["a/orders"].count, state.older], [512, 188, 1]);
  assert.deepEqual(olderCells(scene, state, tiles), [], "the next tile has not arrived yet");
  assert.deepEqual(asked, [1, 0, 0]);
  assert.equal(reduce(state, { ...older, branch: 3 }), state);
  const wide = { ...scene, lanes: { a: { strip: { from: 0, to: 50_000 } } } };
  assert.deepEqual(olderCells(wide, state, tiles), []);
});

test("a window that reaches before the log's first kept entry requests nothing", () => {
  const asked = [];
  const tiles = { entries: (which) => (asked.push(which.index), null) };
  const scene = { watched: { topic: "orders" }, lanes: { a: { strip: { from: -900, to: 700 } } } };
  const from = (first, first_kept) => {
    const seen = view({ a: topic(700, { billing: cursor() }, { first_kept }) });
    const state = [welcome(), frame(1, { view: seen, cells: { "a/orders": cells("aa", { first }) } })].reduce(reduce, emptyLab());
    return olderCells(scene, state, tiles);
  };
  assert.deepEqual([from(0, 0), from(512, 512), from(600, 600), from(513, 0)], [[], [], [], []]);
  assert.deepEqual(asked, [1, 0], "only where older entries are kept");
});

test("tiles are requested once, cached, and dropped on another branch", async () => {
  const paths = [];
  let arrived = 0;
  const tiles = makeTiles({ get: async (path) => (paths.push(path), { level: 0, first: 0, length: 3, full: false, ...cells("aab") }), base: "/labs/x/", onTile: () => arrived++ });
  const which = { branch: 0, cluster: "a", topic: "orders", index: 0 };
  assert.equal(tiles.entries(which), null);
  assert.equal(tiles.entries(which), null);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual([paths.length, arrived, tiles.version()], [1, 1, 1]);
  assert.equal(tiles.entries(which).first, 0);
  tiles.clear();
  assert.equal(tiles.entries(which), null);
});

test("a tile refused with 503 is requested again, one refused with 404 is not", async () => {
  let status = 503;
  const paths = [];
  const tiles = makeTiles({ get: async (path) => (paths.push(path), Promise.reject(Object.assign(new Error("refused"), { status }))), base: "/", onTile: () => {} });
  const which = { branch: 0, cluster: "a", topic: "orders", index: 0 };
  for (const asked of [1, 2, 3, 3]) {
    if (asked === 3) status = 404;
    tiles.entries(which);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(paths.length, asked);
  }
});

test("a trimmed tile starts at its first cell", async () => {
  const tiles = makeTiles({ get: async () => ({ ...cells("ab", { first: 510 }), level: 0, first: 0, length: 900, full: true }), base: "/", onTile: () => {} });
  const which = { branch: 0, cluster: "a", topic: "orders", index: 0 };
  tiles.entries(which);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(tiles.entries(which).first, 510);
});

test("a run includes gaps of up to three entries", () => {
  const runs = [];
  forRuns(Uint16Array.from([1, 1, 0, 0, 1, 0, 0, 0, 0, 1]), 1, (first, last) => runs.push([first, last]));
  assert.deepEqual(runs, [[0, 4], [9, 9]]);
});

test("an empty tile of a topic that did not exist at that instant is not kept: it is requested again", async () => {
  const answers = [{ level: 0, length: 0, kind: [], first: 0 }, { level: 0, length: 700, kind: new Array(512).fill(0), first: 0 }];
  let asked = 0;
  const tiles = makeTiles({ get: async () => answers[asked++], base: "/labs/x/", onTile: () => {} });
  const which = { branch: 0, cluster: "a", topic: "orders", index: 0 };
  const settled = () => new Promise((resolve) => setTimeout(resolve));
  assert.equal(tiles.entries(which), null);
  await settled();
  assert.equal(tiles.entries(which), null);
  await settled();
  assert.deepEqual([asked, tiles.entries(which).kind.length], [2, 512]);
});

test("entries that are not loaded are unknown, unless the cluster's own cursor covers them", () => {
  const seen = view({ a: topic(700, { billing: cursor({ mark: 99 }) }), b: topic(700, { billing: cursor() }) });
  const state = [welcome(), frame(1, { view: seen, cells: { "a/orders": cells("a".repeat(2), { first: 698 }) } })].reduce(reduce, emptyLab());
  const flagsOf = makeEntryFlags(state, whatIsWatched(state, {}));
  const [covered, unknown] = flagsOf("a", 99, 101);
  assert.deepEqual([covered & ACKED, covered & UNKNOWN, unknown], [ACKED, 0, UNKNOWN]);
  assert.deepEqual([...flagsOf("b", 0, 2)], [UNKNOWN, UNKNOWN]);
});
