/** The cell store, cursors and positions. */

import assert from "node:assert/strict";
import test from "node:test";
import { appendCells, CELLS_KEPT, identityOf, markerKind, originOf } from "../../static/js/protocols/pulsar/model/cells.js";
import { gapsOf, inRanges, isAcknowledged } from "../../static/js/protocols/pulsar/model/acknowledged.js";
import { indexOf, parsePosition, positionOf } from "../../static/js/protocols/pulsar/model/positions.js";
import { makeNames } from "../../static/js/model/names.js";
import { cells, cursor } from "./fixtures/lab.js";

test("appending does not change the older store", () => {
  const names = makeNames();
  const one = appendCells(undefined, cells("aab"), names);
  const two = appendCells(one, cells("b", { first: 3 }), names);
  const other = appendCells(one, cells("a", { first: 3 }), names);
  assert.equal(one.count, 3);
  assert.equal(originOf(two.columns.kind[3]), 1);
  assert.equal(originOf(other.columns.kind[3]), 0, "a second branch of the same store does not write over the first");
  assert.equal(originOf(two.columns.kind[3]), 1);
});

test("overlapping cells are skipped, and a gap replaces the store", () => {
  const names = makeNames();
  const one = appendCells(undefined, cells("aaaa"), names);
  const overlapped = appendCells(one, cells("aabb", { first: 2 }), names);
  assert.equal(overlapped.count, 6);
  assert.deepEqual([...overlapped.columns.kind.subarray(0, 6)], [0, 0, 0, 0, 1, 1]);
  const holed = appendCells(one, cells("b", { first: 9 }), names);
  assert.deepEqual([holed.first, holed.count], [9, 1]);
});

test("the store is bounded and keeps the newest cells", () => {
  const names = makeNames();
  let store;
  for (let first = 0; first < CELLS_KEPT * 2; first += 10_000) store = appendCells(store, cells("a".repeat(10_000), { first }), names);
  assert.ok(store.count <= CELLS_KEPT);
  assert.equal(store.first + store.count, CELLS_KEPT * 2);
});

test("identities are the same in every cluster, whatever the order of names in a block", () => {
  const names = makeNames();
  const here = appendCells(undefined, { ...cells("a"), names: ["web"] }, names);
  const there = appendCells(undefined, { ...cells("ba"), producer: [0, 1], names: ["api", "web"] }, names);
  assert.equal(identityOf(here.columns, 0), identityOf(there.columns, 1));
  assert.notEqual(identityOf(here.columns, 0), identityOf(there.columns, 0));
});

test("kinds distinguish markers and origins", () => {
  assert.equal(markerKind(2), -1);
  assert.equal(originOf(2), 2);
  assert.equal(markerKind(2111), 111);
  assert.equal(originOf(2111), 1);
});

test("entries are acked up to the mark-delete and in ranges, both ends included", () => {
  const one = cursor({ mark: 4, ranges: [[6, 6], [9, 11]] });
  const acked = Array.from({ length: 14 }, (_, index) => index).filter((index) => isAcknowledged(one, index));
  assert.deepEqual(acked, [0, 1, 2, 3, 4, 6, 9, 10, 11]);
  assert.deepEqual(gapsOf(one), [[5, 5], [7, 8]]);
  assert.equal(isAcknowledged(undefined, 0), false);
  assert.equal(inRanges([], 3), false);
});

test("positions and indices are converted across ledgers", () => {
  const ledgers = [[3, 0, 10], [7, 10, 5]];
  assert.equal(indexOf(ledgers, parsePosition("7:2")), 12);
  assert.equal(positionOf(ledgers, 12), "7:2");
  assert.equal(indexOf(ledgers, { ledger: 7, entry: -1 }), 9, "before the first of a ledger is the last of the one before");
  assert.equal(indexOf(ledgers, { ledger: 1, entry: 0 }), null);
  assert.equal(positionOf([], 5), "");
  for (let index = 0; index < 15; index++) assert.equal(indexOf(ledgers, parsePosition(positionOf(ledgers, index))), index);
});
