/** The reducer: pure; a snapshot frame replaces the state; a gap changes only its count. */

import assert from "node:assert/strict";
import test from "node:test";
import { branchesNow } from "../../static/js/pages/branches.js";
import { reduce } from "../../static/js/model/reduce.js";
import { emptyLab } from "../../static/js/model/state.js";
import { cells, cursor, frame, frozen, topic, view, welcome } from "./fixtures/lab.js";

const small = (length = 3) => view({ a: topic(length, { billing: cursor() }), b: topic(length, { billing: cursor() }) });

const play = (messages, from = emptyLab()) => messages.reduce((state, message) => frozen(reduce(state, message)), frozen(from));

test("frames accumulate cells, rows, forecast and instant", () => {
  const state = play([
    welcome(),
    frame(1, { view: small(3), cells: { "a/orders": cells("aab") }, rows: [{ seq: 1, at_us: 1, type: "run.started" }], forecast: [[10, { billing: { b: 1 } }]] }),
    frame(2, { view: small(5), cells: { "a/orders": cells("aa", { first: 3 }) }, rows: [{ seq: 4, at_us: 9, type: "link.cut" }], forecast: [[20, { billing: { b: 2 } }]] }),
  ]);
  assert.equal(state.cells["a/orders"].count, 5);
  assert.deepEqual(state.rows.map((row) => row.seq), [1, 4]);
  assert.deepEqual(state.forecast.map(([at_us]) => at_us), [10, 20]);
  assert.equal(state.at_us, 100_000);
  assert.equal(state.welcome.title, "A lab");
});

test("an ordinary frame changes the view, and unchanged parts stay the same objects", () => {
  const before = play([welcome(), frame(1, { view: small() })]);
  const changes = { seq: 9, clusters: { a: { topics: { orders: { length: 7, ledgers: [[3, 0, 7]] } } } } };
  const after = reduce(before, frozen(frame(2, { changes })));
  assert.equal(after.view.clusters.a.topics.orders.length, 7);
  assert.deepEqual(after.view.clusters.a.topics.orders.ledgers, [[3, 0, 7]]);
  assert.equal(after.view.clusters.a.topics.orders.subscriptions, before.view.clusters.a.topics.orders.subscriptions);
  assert.equal(after.view.clusters.b, before.view.clusters.b);
  assert.equal(before.view.clusters.a.topics.orders.length, 3, "the view before stays as it was");
});

test("an object in `whole` replaces the old one, with the order of its own names", () => {
  const before = play([welcome(), frame(1, { view: small() })]);
  const path = ["clusters", "a", "topics", "orders", "subscriptions"];
  const subscriptions = { audit: cursor(), billing: cursor({ mark: 4 }) };
  const after = reduce(before, frame(2, { changes: { clusters: { a: { topics: { orders: { subscriptions } } } } }, whole: [path] }));
  assert.deepEqual(Object.keys(after.view.clusters.a.topics.orders.subscriptions), ["audit", "billing"]);
  const emptied = reduce(after, frame(3, { changes: { clusters: { a: { topics: { orders: { subscriptions: {} } } } } }, whole: [path] }));
  assert.deepEqual(emptied.view.clusters.a.topics.orders.subscriptions, {});
  assert.equal(emptied.view.clusters.a.topics.orders.length, 3);
});

test("a gap is counted and the frame is ignored", () => {
  const before = play([welcome(), frame(1, { view: small() })]);
  const after = reduce(before, frame(3, { view: small(9) }));
  assert.equal(after.gaps, 1);
  assert.equal(after.view, before.view);
  assert.equal(after.number, 1);
});

test("an old frame changes nothing", () => {
  const before = play([welcome(), frame(1, { view: small() }), frame(2, { view: small() })]);
  assert.equal(reduce(before, frame(2, { view: small(9) })), before);
});

test("a snapshot frame replaces rows, cells, markers and curve", () => {
  const later = { epoch: 2, number: 1, snapshot: true };
  const state = play([
    welcome(),
    frame(1, { view: small(), cells: { "a/orders": cells("aaa") }, rows: [{ seq: 9, at_us: 9, type: "snapshot.requested", snapshot: 3, cluster: "a", topic: "orders" }], forecast: [[10, {}], [50, {}]] }),
    frame(1, { ...later, at_us: 30, view: small(), cells: { "a/orders": cells("a") }, rows: [{ seq: 2, at_us: 2, type: "run.started" }], forecast: [[30, {}]] }),
  ]);
  assert.equal(state.cells["a/orders"].count, 1);
  assert.deepEqual(state.rows.map((row) => row.seq), [2]);
  assert.equal(state.snapshots.size, 0);
  assert.deepEqual(state.forecast.map(([at_us]) => at_us), [30]);
});

test("a snapshot frame of another branch replaces the curve", () => {
  const state = play([
    welcome(),
    frame(1, { view: small(), forecast: [[10, {}]] }),
    frame(1, { epoch: 2, snapshot: true, view: { ...small(), branch: 1 }, forecast: [[30, {}]] }),
  ]);
  assert.deepEqual(state.forecast.map(([at_us]) => at_us), [30]);
});

test("rows that are already held are not added again", () => {
  const row = { seq: 5, at_us: 1, type: "link.cut" };
  const state = play([welcome(), frame(1, { view: small(), rows: [row] }), frame(2, { view: small(), rows: [row, { ...row, seq: 6 }] })]);
  assert.deepEqual(state.rows.map(({ seq }) => seq), [5, 6]);
});

test("missed frames and viewers are counted", () => {
  const state = play([welcome(), { type: "viewers", count: 3 }, { type: "lagged", missed: 12 }, { type: "lagged", missed: 2 }]);
  assert.equal(state.viewers, 3);
  assert.equal(state.missed, 14);
});

test("the same messages give the same state every time", () => {
  const messages = [welcome(), frame(1, { view: small(), cells: { "a/orders": cells("abQRS") } }), frame(2, { view: small() })];
  const one = play(messages);
  const other = play(messages);
  assert.deepEqual({ ...one, cells: null }, { ...other, cells: null });
  assert.deepEqual([...one.owners], [[1, 0]], "the request names who asked for snapshot 1");
});

test("the shown branch has the length reported by its newest frame, also between two snapshot frames", () => {
  const branches = [{ number: 0, parent: null, at_us: 0, command: null, furthest_us: 3_600_000 }, { number: 1, parent: 0, at_us: 1, command: { do: "link.cut" }, furthest_us: 9 }];
  const state = play([welcome(), frame(1, { view: { ...small(), furthest_us: 3_600_000 }, branches }), frame(2, { changes: { furthest_us: 6_200_000 } })]);
  assert.deepEqual(branchesNow(state).map(({ furthest_us }) => furthest_us), [6_200_000, 9]);
});

test("a frame that skipped rows replaces the list of rows", () => {
  const row = (seq) => ({ seq, at_us: seq, type: "link.cut" });
  const at = (seq) => ({ ...small(), seq });
  const before = play([welcome(), frame(1, { view: at(10), rows: [row(3), row(7)] })]);
  const follows = reduce(before, frame(2, { view: at(20), rows: [row(12)], rows_from: 10 }));
  assert.deepEqual([follows.rows.map(({ seq }) => seq), follows.rows_from], [[3, 7, 12], 0]);
  const skipped = reduce(before, frame(2, { view: at(20), rows: [row(18)], rows_from: 15 }));
  assert.deepEqual([skipped.rows.map(({ seq }) => seq), skipped.rows_from], [[18], 15]);
});

test("rows in `kept` survive skipped rows and equal those of a page that starts there", () => {
  const row = (seq, type = "snapshot.requested") => ({ seq, at_us: seq * 10, type, snapshot: seq, cluster: "a", topic: "orders", count: 1 });
  const at = (seq) => ({ ...small(), seq });
  const followed = play([welcome(), frame(1, { view: at(10), rows: [row(3)] }), frame(2, { view: at(20), kept: [row(12)], rows: [row(18, "link.cut")], rows_from: 15 })]);
  const began = play([welcome(), frame(1, { view: at(20), kept: [row(3), row(12)], rows: [row(18, "link.cut")], rows_from: 15 })]);
  assert.deepEqual(followed.kept, began.kept);
  assert.deepEqual([...followed.snapshots], [...began.snapshots]);
  assert.deepEqual([...followed.snapshots.keys()], [3, 12]);
});
