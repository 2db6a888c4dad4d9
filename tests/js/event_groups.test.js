/** The groups of the event list, and the rows of figures that are zero. */

import assert from "node:assert/strict";
import test from "node:test";
import { groupedRows } from "../../static/js/model/event_rows.js";
import { wordsOfGroup } from "../../static/js/protocols/pulsar/model/row_words.js";
import { foldSnapshots, noSnapshots } from "../../static/js/protocols/pulsar/model/snapshots.js";
import { view, welcome } from "./fixtures/lab.js";

const about = (seq, snapshot, type = "snapshot.answered") => ({ seq, type, snapshot, cluster: "a", peer: "b" });
const other = (seq) => ({ seq, type: "link.cut", cluster: "a", peer: "b" });
const shape = (groups) => groups.map(({ key, lines }) => [key, ...lines.map(({ row }) => row.seq)]);

test("rows of a snapshot are listed together, the group with the newest row first", () => {
  const rows = [about(1, 1), other(2), about(3, 2), about(4, 1), other(5), other(6)];
  assert.deepEqual(shape(groupedRows(rows, 50, true)), [[null, 6, 5], ["snapshot 1", 4, 1], ["snapshot 2", 3], [null, 2]]);
});

test("every row is listed once, and never more lines than asked for", () => {
  const rows = Array.from({ length: 400 }, (_, seq) => (seq % 3 ? about(seq, Math.floor(seq / 40)) : other(seq)));
  const all = groupedRows(rows, 10_000, true).flatMap(({ lines }) => lines.map(({ row }) => row.seq));
  assert.deepEqual([...all].sort((a, b) => a - b), rows.map(({ seq }) => seq));
  for (const newest of [true, false]) {
    const groups = groupedRows(rows, 60, newest);
    const lines = groups.reduce((sum, { key, lines: own }) => sum + own.length + (key === null ? 0 : 1), 0);
    assert.ok(lines <= 60 && lines > 40, `${lines} lines`);
    const seqs = groups.flatMap(({ lines: own }) => own.map(({ row }) => row.seq));
    assert.ok(newest ? seqs.includes(399) : seqs.includes(0));
  }
});

test("the heading of a snapshot is its name and result", () => {
  const rows = [
    { seq: 1, type: "snapshot.requested", at_us: 1_000_000, cluster: "a", topic: "orders", snapshot: 1, count: 1 },
    { seq: 2, type: "snapshot.completed", at_us: 1_300_000, cluster: "a", topic: "orders", snapshot: 1, duration_us: 300_000, ledger: 3, entry: 7 },
    { seq: 3, type: "snapshot.cached", at_us: 1_310_000, cluster: "a", topic: "orders", snapshot: 1, subscription: "billing" },
    { seq: 4, type: "snapshot.used", at_us: 1_400_000, cluster: "a", topic: "orders", snapshot: 1, subscription: "billing" },
    { seq: 5, type: "snapshot.timed-out", at_us: 31_000_000, cluster: "a", topic: "orders", snapshot: 1 },
  ];
  const heading = (...at) => {
    const state = { welcome: welcome(), view: view({ a: {}, b: {} }, { snapshot_regions: { 0: "a" } }), snapshots: foldSnapshots(noSnapshots(), at.map((index) => rows[index])) };
    return wordsOfGroup("snapshot 1", state, []).map((part) => part.strong ?? part).join("");
  };
  assert.equal(heading(0), "a S1 pending, round 1");
  assert.equal(heading(0, 1), "a S1 completed in 300 ms");
  assert.equal(heading(0, 1, 2), "a S1 completed in 300 ms, ready");
  assert.equal(heading(0, 1, 2, 3), "a S1 completed in 300 ms, used");
  assert.equal(heading(0, 4), "a S1 timed out after 30 s");
});

test("rows after the instant shown have the result that these rows have", () => {
  const state = { welcome: welcome(), view: view({ a: {}, b: {} }, { snapshot_regions: {} }), snapshots: noSnapshots() };
  const later = [{ seq: 1, type: "snapshot.requested", at_us: 1_000_000, cluster: "b", topic: "orders", snapshot: 1, count: 1 }];
  assert.deepEqual(wordsOfGroup("snapshot 1", state, later), [{ strong: "b S1" }, " pending, round 1"]);
  assert.deepEqual(wordsOfGroup("snapshot 9", state, []), [{ strong: "Snapshot" }, ""]);
});
