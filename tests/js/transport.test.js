/** Typed places and messages, branches, consequences of commands, marks of the whole run. */

import assert from "node:assert/strict";
import test from "node:test";
import { ROWS } from "./fixtures/lab.js";
import { parseMessage, parsePlace } from "../../static/js/model/format.js";
import { branchTree } from "../../static/js/pages/branches.js";
import { consequencesOf } from "../../static/js/pages/faults.js";
import { makeLandmarks } from "../../static/js/pages/footer.js";
import { marksOf } from "../../static/js/model/marks.js";
import { MARKS } from "../../static/js/protocols/pulsar/model/row_words.js";
import { flightMenu } from "../../static/js/protocols/pulsar/transport/fault_menus.js";
import { SPEEDS, speedText, speedWords } from "../../static/js/transport/clock.js";

test("a typed place is an instant in seconds, milliseconds or minutes, or the number of an event", () => {
  for (const text of ["5.8", "5.8s", "5.8 s", "5800ms", "0:05.8", "5,8"]) assert.deepEqual(parsePlace(text), { at_us: 5_800_000 }, text);
  for (const text of ["#1234", " # 1234", "seq 1234", "seq #1234"]) assert.deepEqual(parsePlace(text), { seq: 1234 }, text);
  for (const text of ["soon", "#", "#1.5", "5 parsecs", ""]) assert.equal(parsePlace(text), null, text);
});

test("a typed message consists of producer and number", () => {
  assert.deepEqual(parseMessage("web/5"), ["web", 5]);
  assert.deepEqual(parseMessage(" my shop / 17 "), ["my shop", 17]);
  assert.equal(parseMessage("web"), null);
});

test("speeds have different labels, and the highest is full speed", () => {
  assert.ok(SPEEDS[0] <= 0.01 && SPEEDS.includes(0.01));
  assert.equal(speedText(SPEEDS.at(-1)), "full speed");
  assert.equal(speedWords(SPEEDS.at(-1)), "as fast as possible");
  assert.equal(new Set(SPEEDS.map(speedText)).size, SPEEDS.length);
});

test("branches form a tree: parents first, siblings by instant, ancestors of the shown branch marked", () => {
  const branches = [
    { number: 0, parent: null, at_us: 0, command: null, furthest_us: 9e6 },
    { number: 1, parent: 0, at_us: 5e6, command: { do: "cluster.crash", cluster: "a" }, furthest_us: 8e6 },
    { number: 2, parent: 0, at_us: 2e6, command: { do: "link.cut", link: "a <-> b" }, furthest_us: 3e6 },
    { number: 3, parent: 1, at_us: 6e6, command: { do: "cluster.restart", cluster: "a" }, furthest_us: 7e6 },
  ];
  const labels = { "cluster.crash": "crash a cluster", "cluster.restart": "restart a crashed cluster", "link.cut": "cut a link" };
  const commands = Object.entries(labels).map(([name, label]) => [name, { label, consequence: "", arguments: [{ name: name.split(".")[0], kind: "name", required: true }] }]);
  const state = { welcome: { tables: { commands: Object.fromEntries(commands) } } };
  const tree = branchTree(branches, state, 3);
  assert.deepEqual(tree.map(({ number, depth, on_way }) => [number, depth, on_way]), [[0, 0, true], [2, 1, false], [1, 1, true], [3, 2, true]]);
  assert.deepEqual(tree.map((node) => node.words), ["As planned", "Cut a link: a ↔ b, at 2.000 s", "Crash a cluster: a, at 5.000 s", "Restart a crashed cluster: a, at 6.000 s"]);
});

test("the consequence of a crash names the consumers killed with it and the engine's forecast of a failover", () => {
  const consumers = { "billing-1": { unacked: [4, 5], queued: 3 } };
  const state = {
    welcome: { protocol: "pulsar", tables: { commands: { "cluster.crash": { label: "crash a cluster", consequence: "{cluster} stops at once.", arguments: [] } } } },
    view: {
      clusters: { a: { topics: { orders: { subscriptions: { billing: { consumers } } } } }, b: { topics: {} } },
      forecast: { billing: { from: "a", to: { b: { duplicates: 7, stranded: 1, lost: 0 } } } },
    },
  };
  const watched = { clusters: ["a", "b"], lanes: ["a", "b"], topic: "orders", subscription: "billing", target: "b" };
  const words = consequencesOf({ do: "cluster.crash", cluster: "a" }, state, watched);
  assert.match(words, /billing-1 is killed with it, with 5 messages unacked or queued/);
  assert.match(words, /If billing then moved to b: 7 duplicates, 1 not replicated, 0 lost/);
  assert.equal(consequencesOf({ do: "cluster.crash", cluster: "b" }, state, watched).includes("duplicates"), false);
});

test("a declared consequence contains chosen arguments and names those not chosen", () => {
  const consequence = [
    "{node} sends {clusters|the listed clusters} a copy",
    { when: "skip", texts: { "": "", 1: ", after 1 other" }, otherwise: [", after {skip} others", { when: "force", texts: { true: ", forced" }, otherwise: "" }] },
    ". {group|its leader} waits.",
  ];
  const state = { welcome: { protocol: "emqx", tables: { commands: { "any.thing": { label: "do it", consequence, arguments: [] } } } }, view: {} };
  const words = (given) => consequencesOf({ do: "any.thing", ...given }, state, {});
  assert.equal(words({}), "The node sends the listed clusters a copy. Its leader waits.");
  assert.equal(words({ node: "n1", clusters: ["a", "b"], skip: 1, group: "g" }), "n1 sends a, b a copy, after 1 other. g waits.");
  assert.equal(words({ node: "n1", skip: 2, force: true }), "n1 sends the listed clusters a copy, after 2 others, forced. Its leader waits.");
  assert.equal(words({ node: "n1", skip: "toString" }), "n1 sends the listed clusters a copy, after toString others. Its leader waits.");
  assert.equal(consequencesOf({ do: "no.such-command" }, state, {}), "");
});

test("a marker in flight can be dropped or delayed when it was sent, a message cannot", () => {
  const flight = { what: "snapshot_response", number: 9, from: "a", to: "b", sent_us: 700, due_us: 900, topic: "orders" };
  const [{ items }] = flightMenu(flight);
  const drop = items.find((item) => item.says === "Drop it");
  assert.deepEqual([drop.command, drop.before_us], [{ do: "marker.drop", cluster: "a", peer: "b", type: "snapshot_response" }, 700]);
  assert.ok(flightMenu({ ...flight, what: "message", producer: "web" })[0].items.every((item) => item.before_us === undefined));
});

test("marks of the branch are the server's once per epoch, then the frames', without repetitions, then planned ones", async () => {
  const crash = { seq: 5, at_us: 50, type: "cluster.crashed", cluster: "a" };
  const over = { seq: 900, at_us: 80, type: "failover.started", cluster: "a", peer: "b" };
  let asked = 0;
  const landmarks = makeLandmarks({ get: async () => ((asked += 1), { branch: 0, rows: [crash] }), base: "", onAnswer: () => {} });
  const state = { view: { branch: 0, seq: 1000, furthest_us: 100 }, epoch: 1, at_us: 100, rows: [{ seq: 890, at_us: 79, type: "cursor.moved" }, over], welcome: { rows: ROWS, commands: [{ do: "link.heal", at_us: 200 }] } };
  landmarks.of(state);
  await new Promise((done) => setTimeout(done));
  const rows = landmarks.of(state);
  assert.equal(landmarks.of(state), rows, "the same list when nothing is new");
  assert.deepEqual(marksOf(state, rows, MARKS).map(({ at_us, kind, done }) => [at_us, kind, done]), [[50, "fault", true], [80, "failover", true], [200, "healing", false]]);
  assert.equal(asked, 1);
});

test("landmarks from a frame of the paused lab are sorted before newer ones received during playback", () => {
  const early = { seq: 40, at_us: 40, type: "snapshot.completed", cluster: "a" };
  const late = { seq: 90, at_us: 90, type: "snapshot.completed", cluster: "a" };
  const landmarks = makeLandmarks({ get: () => new Promise(() => {}), base: "", onAnswer: () => {} });
  const at = (rows_from, playing, rows) => ({ view: { branch: 0, seq: 100, furthest_us: 200 }, epoch: 1, at_us: 100, playing, rows_from, rows, welcome: { rows: ROWS } });
  assert.deepEqual(landmarks.of(at(80, true, [late])), [late], "rows 0 to 79 were left out");
  assert.deepEqual(landmarks.of(at(0, false, [early, late])), [early, late]);
});

test("landmarks are requested again when paused after frames left out rows, and not during playback", async () => {
  const missing = { seq: 500, at_us: 60, type: "cluster.crashed", cluster: "a" };
  const answers = [{ branch: 0, seq: 400, rows: [] }, { branch: 0, seq: 1000, rows: [missing] }];
  let asked = 0;
  const landmarks = makeLandmarks({ get: async () => answers[asked++], base: "", onAnswer: () => {} });
  const at = (seq, rows_from, playing) => ({ view: { branch: 0, seq }, welcome: { rows: ROWS }, epoch: 1, playing, rows_from, rows: [{ seq: seq - 1, at_us: seq, type: "cursor.moved" }] });
  const answered = () => new Promise((done) => setTimeout(done));
  landmarks.of(at(400, 300, true));
  await answered();
  landmarks.of(at(450, 300, true)); // follows directly: nothing is missing
  assert.deepEqual([landmarks.of(at(1000, 800, true)), asked], [[], 1], "rows 450 to 799 were left out, but playback goes on");
  const paused = at(1000, 800, false);
  landmarks.of(paused);
  await answered();
  assert.deepEqual(landmarks.of(paused), [missing]);
  landmarks.of(at(1000, 800, false));
  assert.equal(asked, 2);
});
