/** The reasons on the curve of duplicates: true to markers and snapshots, few, and never over each other. */

import assert from "node:assert/strict";
import test from "node:test";
import { reduce, whatIsWatched } from "../../static/js/model/reduce.js";
import { emptyLab } from "../../static/js/model/state.js";
import { curveReasons, placeReasons } from "../../static/js/protocols/pulsar/render/curve_reasons.js";
import { cells, consumer, cursor, frame, sequence, topic, view, welcome } from "./fixtures/lab.js";

const point = (at_us, duplicates) => [at_us, { billing: { b: duplicates } }];
const update = (snapshot, stored_us, to = "b") => ({ kind: "subscription_update", cluster: "a", topic: "orders", snapshot, subscription: "billing", hops: [{ to, sent_us: stored_us - 40_000, stored_us, lost_us: null, delayed: false }] });
const snapshot = (number, more) => ({ number, cluster: "a", topic: "orders", state: "completed", asked_us: 1_000_000, ended_us: 1_080_000, kept: {}, ...more });

function lab({ ranges = [], mark = 3, cache = [] } = {}) {
  const a = cursor({ mark, ranges, read: 8, consumers: { "billing-1": consumer([]) }, cache });
  const shown = view({ a: topic(8, { billing: a }), b: topic(8, { billing: cursor({ mark: 1 }) }) }, { snapshot_regions: { 0: "abaa" }, forecast: { billing: { from: "a", to: { b: { duplicates: 4 } } } } });
  const first = frame(1, { at_us: 4_000_000, view: shown, cells: { "a/orders": cells("aaaaaaaa"), "b/orders": cells("aaaaaaaa") } });
  return [welcome(), first].reduce(reduce, emptyLab());
}
const said = (state, given) => curveReasons(state, whatIsWatched(state, {}), { points: [], markers: [], snapshots: [], ...given }).map(({ at_us, strong, text }) => `${at_us / 1e6} ${strong}${text}`);

test("a drop is explained by the update that the target applied at this instant", () => {
  const points = [point(1_000_000, 5), point(2_000_000, 9), point(2_120_000, 2), point(3_000_000, 6), point(3_120_000, 6)];
  assert.deepEqual(said(lab(), { points, markers: [update(1, 2_120_000), update(3, 3_120_000)] }), ["2.12 S1 applied, −7"], "an update without a drop has no label");
  assert.deepEqual(said(lab(), { points, markers: [update(1, 2_120_000, "c")] }), [], "another region's cursor moved");
  assert.deepEqual(said(lab(), { points, markers: [update(1, 4_500_000)] }), [], "it is not applied yet");
});

test("a snapshot that waits names the only message that blocks it, or how many do", () => {
  const points = [point(1_000_000, 1), point(2_000_000, 4)];
  const snapshots = [snapshot(3, { kept: { billing: { state: "cached", at_us: 1_500_000 } } })];
  const cache = [{ snapshot: 3, index: 6, position: "3:6" }];
  assert.deepEqual(said(lab({ cache, ranges: [[5, 7]] }), { points, snapshots }), ["1.5 S2 ready, web/4 blocks it"]);
  assert.deepEqual(said(lab({ cache, ranges: [[5, 5]] }), { points, snapshots }), ["1.5 S2 ready, 2 messages before it not acked"]);
  assert.deepEqual(said(lab({ cache, mark: 6 }), { points, snapshots }), [], "the mark-delete has passed it");
  assert.deepEqual(said(lab(), { points, snapshots }), [], "it is no longer in the cache");
});

test("a snapshot that timed out or left the cache unused is named", () => {
  const points = [point(1_000_000, 1), point(2_000_000, 4)];
  assert.deepEqual(said(lab(), { points, snapshots: [snapshot(1, { state: "timed-out", ended_us: 1_700_000 })] }), ["1.7 S1 timed out"]);
  assert.deepEqual(said(lab(), { points, snapshots: [snapshot(4, { kept: { billing: { state: "evicted", reason: "cache-rule", at_us: 1_900_000 } } })] }), ["1.9 S3 evicted unused"]);
  assert.deepEqual(said(lab(), { points, snapshots: [snapshot(1, { state: "timed-out", ended_us: 4_700_000 })] }), [], "that is after the instant shown");
});

test("labels never overlap, stay in the plot, and are few", () => {
  const next = sequence(7);
  const overlap = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
  for (let round = 0; round < 200; round++) {
    const reasons = Array.from({ length: 9 }, (_, at) => ({ at_us: next() * 1000, strong: `S${at}`, text: " ready, orders/98 blocks it".slice(0, 5 + next() * 22), from: next() * 50, to: next() * 20, kind: next() > 0.5 ? "applied" : "waiting" }));
    const given = { xAt: (us) => 100 + us * 0.8, yAt: (value) => 160 - value * 2, x0: 100, x1: 900, top: 60, bottom: 160, line: 14, measure: (runs) => runs.reduce((sum, { text }) => sum + text.length * 6, 0), curve: [], taken: [] };
    const placed = placeReasons(reasons, given);
    assert.ok(placed.length > 0 && placed.length <= 4);
    placed.forEach((one, at) => {
      assert.ok(one.x >= 100 && one.x + one.width <= 900 && one.y >= 60 && one.y + one.height <= 160);
      for (const other of placed.slice(at + 1)) assert.ok(!overlap(one, other));
    });
  }
});
