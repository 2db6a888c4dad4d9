import assert from "node:assert/strict";
import { test } from "node:test";

import { axisOf, headline, otherMeasures, pointLabel, radiusOf, valueWords, intervalNote, openNote } from "../../static/js/pages/experiment.js";

const MEASURES = [
  { name: "duplicates", title: "duplicates", unit: "count" },
  { name: "lost", title: "lost", unit: "count" },
  { name: "outage_us", title: "delivery gap", unit: "us" },
];
const NONE = { median: 0, p95: 0, largest: 0 };

const point = (values, median, more = {}) => ({
  number: 0, values, finished: 4, failed: 0, never: 0, dots: [[median ?? 0, 4]], within: null, median_run: 0, worst_run: 0,
  figures: { duplicates: { median, p95: median, largest: median }, lost: NONE, outage_us: NONE }, ...more,
});
const results = (points, more = {}) => ({ runs: 8, measure: "duplicates", measures: MEASURES, axes: ["settings.period"], at_most: null, points, failed: [], ...more });

test("the headline has the lowest and the highest median of the settings that have runs", () => {
  assert.equal(headline(results([point(["500"], 30), point(["250"], 18), point(["1000"], 0, { finished: 0 })])), "Duplicates: median 18 with 250, 30 with 500");
  assert.equal(headline(results([point(["250"], 3), point(["500"], 3)])), "Duplicates: median 3 with every setting");
  assert.equal(headline(results([point([], 3)], { axes: [] })), "Duplicates: median 3");
  assert.equal(headline(results([point(["1"], 0, { finished: 0 })])), "No run is finished yet");
});

test("a median that was never reached is above every number", () => {
  assert.equal(headline(results([point(["a"], null), point(["b"], 7)])), "Duplicates: median 7 with b, not by the end with a");
  assert.equal(valueWords("us", null), "not by the end");
  assert.equal(valueWords("us", 1_500_000), "1.5 s");
});

test("several parameters are named in a setting's label", () => {
  const two = results([], { axes: ["settings.period", "consumers.*.queue"] });
  assert.equal(pointLabel(two, point(["250", "10"], 1)), "period 250, queue 10");
  assert.equal(pointLabel(results([], { axes: [] }), point([], 1)), "as written");
  const period = results([], { axes: ["settings.replicatedSubscriptionsSnapshotFrequencyMillis"] });
  assert.equal(pointLabel(period, point(["250"], 1)), "250 ms");
  assert.equal(pointLabel(period, point(["never"], 1)), "never");
});

test("the axis begins at 0, has round parts, and covers every value and the bound", () => {
  assert.deepEqual(axisOf(results([point(["1"], 47)])).ticks, [0, 10, 20, 30, 40, 50]);
  assert.equal(axisOf(results([point(["1"], 47)], { at_most: 60 })).most, 60);
  assert.deepEqual(axisOf(results([point(["1"], 0)])).ticks, [0, 1]);
  for (const most of [1, 3, 9, 99, 1234, 5_000_001]) {
    const axis = axisOf(results([point(["1"], most)]));
    assert.ok(axis.most >= most && axis.ticks.length <= 8, `${most}: ${axis.ticks}`);
  }
});

test("other measures are shown when one of them is not 0 everywhere", () => {
  assert.deepEqual(otherMeasures(results([point(["1"], 5)])), []);
  const late = point(["1"], 5);
  late.figures = { ...late.figures, outage_us: { median: 5, p95: 5, largest: null } };
  assert.deepEqual(otherMeasures(results([late])).map((one) => one.name), ["outage_us"]);
});

test("a dot's area grows with its runs, up to a bound", () => {
  assert.equal(radiusOf(4), 2 * radiusOf(1));
  assert.equal(radiusOf(10_000), 9);
});

test("numbers of runs that were still delivering at the end are lower bounds", () => {
  const open = { ...point([], 1934), delivering: 3 };
  assert.equal(headline(results([open])).replaceAll(/\s/gu, " "), "Duplicates: median at least 1 934");
  assert.match(openNote(results([open])), /3 runs were still delivering at the end/);
  assert.equal(openNote(results([point([], 7)])), "");
});

test("the interval of a median is printed where runs are independent, and otherwise why there is none", () => {
  const sure = (values, median, interval) => {
    const one = point(values, median);
    return { ...one, figures: { ...one.figures, duplicates: { ...one.figures.duplicates, interval } } };
  };
  assert.equal(intervalNote(results([sure([], 190, [177, 205])])), " The median is 177 to 205 with 95 % confidence.");
  assert.equal(intervalNote(results([sure(["250"], 19, [17, 20]), sure(["500"], 30, [28, 35])])), " With 95 % confidence the median is 17 to 20 with 250, 28 to 35 with 500.");
  assert.match(intervalNote(results([point([], 168)], { seeds: 1 })), /All runs have one seed: other random traffic may give another median/);
  assert.equal(intervalNote(results([point([], 168)], { seeds: 3 })), "");
});
