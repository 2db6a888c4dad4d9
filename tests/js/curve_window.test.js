/** The risk curve of a run that is longer than the points of the frames. */

import assert from "node:assert/strict";
import test from "node:test";
import { makeCurveWindow } from "../../static/js/model/curve_window.js";
import { curveWords, curveY, figuresOf, stepsOf } from "../../static/js/render/time_axes.js";

const point = (at_us, duplicates) => [at_us, { billing: { b: duplicates } }];
const lab = (more = {}) => ({ view: { branch: 0, forecast: {} }, at_us: 9000, playing: false, forecast: [point(5000, 3), point(9000, 4)], forecast_from_us: 5000, ...more });
const answered = () => new Promise((done) => setTimeout(done));

function windowOf(paths) {
  const get = async (path) => {
    paths.push(path);
    return { branch: 0, count: 2, points: { at_us: [1000, 1000], curves: [["billing", "b", [7, -6]]] } };
  };
  return makeCurveWindow({ get, base: "/", onAnswer: () => {} });
}

test("older points than those of the frames are requested once and inserted before them", async () => {
  const paths = [];
  const curve = windowOf(paths);
  assert.deepEqual(curve.points(lab(), 0, Infinity, 0).map(([at_us]) => at_us), [5000, 9000]);
  curve.points(lab(), 0, Infinity, 0);
  await answered();
  assert.deepEqual(curve.points(lab(), 0, Infinity, 0), [point(1000, 7), point(2000, 1), point(5000, 3), point(9000, 4)]);
  assert.deepEqual(paths, ["/curve.json?from_us=0&to_us=4999"]);
  assert.deepEqual(curve.points(lab({ view: { branch: 1, forecast: {} } }), 0, Infinity, 0).length, 2, "another branch has another past");
});

test("nothing is requested for a stretch that frames cover, and requests are limited during playback", async () => {
  const paths = [];
  const curve = windowOf(paths);
  curve.points(lab(), 5000, 20_000, 0);
  curve.points(lab({ forecast_from_us: 0 }), 0, Infinity, 0);
  assert.deepEqual(paths, []);
  for (const [from_us, wall_ms] of [[5000, 1000], [5100, 1200], [5200, 1400], [5300, 1800]]) curve.points(lab({ playing: true, forecast_from_us: from_us }), 0, Infinity, wall_ms);
  assert.deepEqual(paths, ["/curve.json?from_us=0&to_us=4999", "/curve.json?from_us=0&to_us=5299"]);
});

test("the curve says its number and its instant, and has a few round figures", () => {
  const points = [[0, { billing: { c: 9 } }], point(1_000_000, 4), point(2_000_000, 1), [2_500_000, {}], [3_000_000, {}]];
  const lines = ["c", "b"].map((peer) => ({ peer, shown: peer === "b", steps: stepsOf(points, "billing", peer, 3_500_000) }));
  assert.deepEqual(lines[1].steps.map(({ from_us, to_us }) => [from_us, to_us]), [[1_000_000, 2_000_000], [2_000_000, 2_500_000]], "it ends where nothing could fail over any more");
  assert.equal(stepsOf([point(0, 3)], "billing", "b", 700)[0].to_us, 700, "the last value holds up to the instant shown");
  const curve = { lines, most: 10, top: 0, bottom: 100 };
  const watched = { words: (peer) => `in ${peer}` };
  assert.equal(curveWords(curve, watched, 1_500_000), "4 duplicates in b at 1.500 s");
  assert.equal(curveWords(curve, watched, 2_000_000), "1 duplicate in b at 2.000 s");
  assert.equal(curveWords(curve, watched, 500_000), "", "before its first value");
  assert.equal(curveWords(curve, watched, 2_900_000), "", "after its last one");
  assert.equal(curveY(curve, 5), 50);
  for (const most of [4.6, 7, 11.5, 50, 99, 1234, 87_000]) {
    for (const more of [1, 2]) {
      const figures = figuresOf(most, more);
      assert.ok(figures.length >= 2 && figures.length <= more + 1, `${most}: ${figures}`);
      assert.ok(figures[0] === 0 && figures.at(-1) <= most && Number.isInteger(figures[1]), `${most}: ${figures}`);
    }
  }
});
