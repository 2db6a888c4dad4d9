/** The names of snapshots: numbered within their region, and continued by rows after the instant shown. */

import assert from "node:assert/strict";
import test from "node:test";
import { fullName, shortName, snapshotName } from "../../static/js/protocols/pulsar/model/snapshot_names.js";
import { wordsOfRow } from "../../static/js/model/event_rows.js";
import { view, welcome } from "./fixtures/lab.js";

/** a requested snapshots 1, 3 and 4 of the trace, b 2 and 5. */
const state = { welcome: welcome(), view: view({ a: {}, b: {} }, { snapshot_regions: { 0: "aba", 3: "ab" } }) };
const requested = (snapshot, cluster, count = 1) => ({ type: "snapshot.requested", snapshot, cluster, count });

test("a region's snapshots are numbered from 1", () => {
  assert.deepEqual([1, 2, 3, 4, 5].map((number) => fullName(state, number)), ["a's S1", "b's S1", "a's S2", "a's S3", "b's S2"]);
  assert.equal(shortName(state, 4), "S3");
});

test("rows after the instant shown continue the numbers of their region", () => {
  const later = [requested(6, "b"), requested(6, "b", 2), requested(7, "a"), requested(8, "b")];
  assert.deepEqual([6, 7, 8].map((number) => fullName(state, number, later)), ["b's S3", "a's S4", "b's S4"]);
  const seen = { ...state, view: { ...state.view, snapshot_regions: { 0: "aba", 3: "abb" } } };
  assert.equal(fullName(seen, 8, later), "b's S4", "a row that the view has already counts once");
});

test("a snapshot that the page does not know has no number", () => {
  assert.equal(snapshotName(state, 9), null);
  assert.equal(fullName(state, 9), "a snapshot");
  assert.equal(fullName({ welcome: welcome(), view: null }, 1), "a snapshot");
});

test("the list names the region of a snapshot, but not twice", () => {
  const plain = (row) => wordsOfRow(row, state).map((part) => (typeof part === "string" ? part : part.strong)).join("");
  assert.equal(plain(requested(3, "a")), "a requests S2, round 1");
  assert.equal(plain({ type: "snapshot.answered", snapshot: 3, cluster: "a", peer: "b", to_ledger: 3, to_entry: 7 }), "response of b to a's S2: 3:7");
});
