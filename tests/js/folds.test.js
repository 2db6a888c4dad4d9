/** Snapshots and markers folded from rows, folded runs of the list, the forecast's points. */

import assert from "node:assert/strict";
import test from "node:test";
import { SNAPSHOTS_KEPT, foldMarkers, foldSnapshots, noMarkers, noSnapshots } from "../../static/js/protocols/pulsar/model/snapshots.js";
import { foldedRuns } from "../../static/js/model/event_rows.js";
import { addPoints, curveOf, POINTS_KEPT } from "../../static/js/model/forecast.js";
import { addRows, ROWS_KEPT } from "../../static/js/model/reduce.js";

const base = { cluster: "a", topic: "orders", snapshot: 4 };

test("a snapshot is folded through two rounds, completed, cached and used", () => {
  const rows = [
    { ...base, type: "snapshot.requested", at_us: 10, count: 1 },
    { ...base, type: "snapshot.answered", at_us: 20, peer: "b", to_ledger: 1, to_entry: 5, count: 1 },
    { ...base, type: "snapshot.requested", at_us: 30, count: 2 },
    { ...base, type: "snapshot.completed", at_us: 40, ledger: 3, entry: 9, duration_us: 30 },
    { ...base, type: "snapshot.cached", at_us: 41, subscription: "s" },
    { ...base, type: "snapshot.used", at_us: 50, subscription: "s" },
    { ...base, type: "snapshot.evicted", at_us: 50, subscription: "s", reason: "passed" },
  ];
  const one = foldSnapshots(noSnapshots(), rows).get(4);
  assert.deepEqual([one.state, one.asked_us, one.ended_us, one.round], ["completed", 10, 40, 2]);
  assert.deepEqual(one.local, { ledger: 3, entry: 9 });
  assert.deepEqual(one.positions, { b: { ledger: 1, entry: 5 } });
  assert.equal(one.kept.s.state, "used", "leaving the cache by being used is not being thrown out");
});

test("folding does not change the older value and bounds the number of snapshots", () => {
  const before = noSnapshots();
  let snapshots = before;
  for (let number = 1; number < SNAPSHOTS_KEPT + 20; number++) snapshots = foldSnapshots(snapshots, [{ ...base, snapshot: number, type: "snapshot.requested", at_us: number }]);
  assert.equal(before.size, 0);
  assert.equal(snapshots.size, SNAPSHOTS_KEPT);
  assert.ok(!snapshots.has(1));
  assert.equal(foldSnapshots(snapshots, [{ type: "link.cut" }]), snapshots, "nothing new, same object");
});

test("a marker has a hop for each attempt, lost or stored", () => {
  const row = (type, at_us, cluster, peer) => ({ type, at_us, cluster, peer, topic: "orders", marker: 7, reason: "snapshot_request", snapshot: 4 });
  const marker = foldMarkers(noMarkers(), [row("marker.written", 1, "a"), row("marker.sent", 2, "a", "b"), row("marker.lost", 3, "a", "b"), row("marker.sent", 5, "a", "b"), row("marker.stored", 9, "b", "a")]).get(7);
  assert.deepEqual(marker.hops, [
    { to: "b", sent_us: 2, stored_us: null, lost_us: 3, delayed: false },
    { to: "b", sent_us: 5, stored_us: 9, lost_us: null, delayed: false },
  ]);
  assert.equal(marker.cluster, "a");
});

test("a page that joins late takes the sender of a marker as its writer", () => {
  const marker = foldMarkers(noMarkers(), [{ type: "marker.stored", at_us: 9, cluster: "b", peer: "a", topic: "orders", marker: 7, reason: "snapshot_request" }]).get(7);
  assert.equal(marker.cluster, "a");
});

test("repeated moves of a cursor are folded into one line, other rows between them stay", () => {
  const moved = (seq, cluster = "a") => ({ seq, type: "cursor.moved", cluster, topic: "o", subscription: "s", reason: "acknowledgement" });
  const lines = foldedRuns([moved(1), moved(2), moved(3, "b"), moved(4), { seq: 5, type: "snapshot.requested", cluster: "a" }, { ...moved(6), reason: "update" }]);
  assert.deepEqual(lines.map(({ row, times }) => [row.seq, times]), [[3, 1], [4, 3], [5, 1], [6, 1]]);
});

test("a protocol message that is lost again and again is one line, for each kind and session", () => {
  const lost = (seq, client, reason) => ({ seq, type: "protocol.lost", client, subscription: "meters", reason, detail: "link-cut" });
  const lines = foldedRuns([lost(1, "ben", "leader-wanted"), lost(2, "ben", "leader-wanted"), lost(3, "ada", "leader-wanted"), lost(4, "ben", "ping"), lost(5, "ben", "leader-wanted")]);
  assert.deepEqual(lines.map(({ row, times }) => [row.seq, times]), [[3, 1], [4, 1], [5, 3]]);
});

test("rows and curve are bounded and keep the newest", () => {
  const rows = addRows([], Array.from({ length: ROWS_KEPT + 10 }, (_, seq) => ({ seq })));
  assert.deepEqual([rows.length, rows.at(-1).seq], [ROWS_KEPT, ROWS_KEPT + 9]);
  let points = [];
  for (let at = 0; at < POINTS_KEPT * 2; at += 100) points = addPoints(points, Array.from({ length: 100 }, (_, i) => [at + i, { s: { b: at + i } }]));
  assert.equal(points.length, POINTS_KEPT);
  const { x, y } = curveOf(points, "s", "b");
  assert.equal(y.at(-1), POINTS_KEPT * 2 - 1);
  assert.ok(x.every((value, at) => at === 0 || value > x[at - 1]));
});
