/** The forecast's curve as the page holds it: extended without repetitions, null where a cluster was not a remote. */

import assert from "node:assert/strict";
import test from "node:test";
import { isEverAboveZero, grown, lastOf, noPoints, POINTS_KEPT, upTo } from "../../static/js/protocols/pulsar/pages/forecast_panel.js";

const columns = (...values) => Object.fromEntries(["duplicates", "stranded", "lost", "lag_us"].map((name) => [name, values]));

test("points are added once, in order, and replace newest ones that a command changed", () => {
  const one = grown(noPoints(0, "billing"), { at_us: [100, 200], peers: { b: columns(1, 2) } });
  const two = grown(one, { at_us: [200, 300], peers: { b: columns(9, 3) } });
  assert.deepEqual(two.at_us, [100, 200, 300]);
  assert.deepEqual(two.peers.b.duplicates, [1, 9, 3]);
  assert.equal(lastOf(two), 299);
  assert.deepEqual(grown(two, { at_us: [300], peers: { b: columns(3) } }), two);
  assert.deepEqual(upTo(two, 250), grown(one, { at_us: [200], peers: { b: columns(9) } }), "after a seek back later points are not shown");
});

test("a point at instant 0 is added", () => {
  assert.deepEqual(grown(noPoints(0, "billing"), { at_us: [0], peers: { b: columns(0) } }).at_us, [0]);
});

test("a cluster has null where it is not a remote", () => {
  const one = grown(noPoints(0, "billing"), { at_us: [1], peers: { b: columns(1) } });
  const two = grown(one, { at_us: [2], peers: { a: columns(5) } });
  assert.deepEqual(two.peers.a.stranded, [null, 5]);
  assert.deepEqual(two.peers.b.stranded, [1, null]);
});

test("the number of points is bounded, and the newer half is kept completely", () => {
  let points = noPoints(0, "billing");
  for (let at = 0; at < 8; at++) {
    const at_us = Array.from({ length: 1000 }, (_, step) => at * 1000 + step + 1);
    points = grown(points, { at_us, peers: { b: columns(...at_us) } });
  }
  assert.ok(points.at_us.length <= POINTS_KEPT);
  assert.equal(points.peers.b.lost.length, points.at_us.length);
  assert.deepEqual(points.at_us.slice(-3), [7998, 7999, 8000]);
});

test("a figure that was always 0 has no strip, unless a failover had it", () => {
  const points = grown(noPoints(0, "billing"), { at_us: [1], peers: { b: columns(0) } });
  assert.equal(isEverAboveZero(points, [], "lost"), false);
  assert.equal(isEverAboveZero(points, [{ lost: 2, forecast: { lost: 0 } }], "lost"), true);
});
