/** The model of a guided tour: what is played to a step, what the learner typed, and where the lab is. */

import assert from "node:assert/strict";
import test from "node:test";
import { cutAtTerms, FAST_S, histogramOf, judged, partsOf, partsShown, progressOf, readGuess, SLOW_S, tourFragment, tourPlaceOf } from "../../static/js/model/tour.js";

const step = (at_us, slow_from_us = at_us) => ({ at_us, slow_from_us });

test("playback is quick up to the first cause of the event, then slow", () => {
  const [fast, slow, ...more] = partsOf(1_000_000, step(7_080_000, 7_000_000));
  assert.deepEqual(more, []);
  assert.deepEqual(fast, { until_us: 7_000_000, speed: 6 / FAST_S });
  assert.equal(slow.until_us, 7_080_000);
  assert.equal(slow.speed.toFixed(6), (0.08 / SLOW_S).toFixed(6));
});

test("a step at an instant is played in one part, never slower than real time", () => {
  assert.deepEqual(partsOf(0, step(100_000)), [{ until_us: 100_000, speed: 1 }]);
  assert.deepEqual(partsOf(0, step(30_000_000)), [{ until_us: 30_000_000, speed: 10 }]);
});

test("within the slow part only the rest of it is played, and from the step on nothing", () => {
  assert.deepEqual(partsOf(7_040_000, step(7_080_000, 7_000_000)).map((part) => part.until_us), [7_080_000]);
  assert.deepEqual(partsOf(7_080_000, step(7_080_000, 7_000_000)), []);
  assert.deepEqual(partsOf(9_000_000, step(7_080_000, 7_000_000)), []);
});

test("speeds stay within what the server accepts", () => {
  assert.equal(partsOf(0, step(48 * 3600e6))[0].speed, 1000);
  assert.equal(partsOf(0, step(1, 0))[0].speed, 0.01);
});

test("a prediction is a whole number or a position, or nothing", () => {
  assert.deepEqual(readGuess("number", " 1,200 "), { guess: "1200", problem: "" });
  assert.deepEqual(readGuess("number", ""), { guess: null, problem: "" });
  assert.match(readGuess("number", "about 12").problem, /whole number/);
  assert.match(readGuess("number", "1234567890").problem, /whole number/);
  assert.deepEqual(readGuess("position", "1234:57"), { guess: "1234:57", problem: "" });
  assert.match(readGuess("position", "57").problem, /ledger:entry/);
});

test("the answer is shown beside the prediction", () => {
  const ask = { kind: "number", unit: "duplicates", answer: "1,200" };
  assert.equal(judged(ask, "12"), "Your prediction: 12. In this run: 1,200 duplicates.");
  assert.equal(judged(ask, "1200"), "Your prediction is right: 1,200 duplicates.");
  assert.equal(judged(ask, null), "In this run: 1,200 duplicates.");
  assert.equal(judged({ ...ask, answer: "1" }, "2"), "Your prediction: 2. In this run: 1 duplicate.");
  const position = { kind: "position", unit: "", answer: "1:4" };
  assert.equal(judged(position, "1:4", { same: () => true }), "Your prediction is right: 1:4.");
  assert.equal(judged(position, "1:3"), "Your prediction: 1:3. In this run: 1:4.");
  assert.equal(judged(position, "1:3", { same: () => true }), "Your prediction, 1:3, is right: it covers the same messages as 1:4.");
});

test("the lab is on the way, there, or stopped by the viewer", () => {
  const part = { until_us: 500 };
  assert.equal(progressOf({ at_us: 100, playing: false }, null, false), "resting");
  assert.equal(progressOf({ at_us: 100, playing: false }, part, false), "waiting");
  assert.equal(progressOf({ at_us: 300, playing: true }, part, true), "playing");
  assert.equal(progressOf({ at_us: 300, playing: false }, part, true), "paused");
  assert.equal(progressOf({ at_us: 500, playing: false }, part, true), "reached");
});

test("a jump has ended only at its instant, also when it goes back", () => {
  const jump = { until_us: 500, exact: true };
  assert.equal(progressOf({ at_us: 900, playing: false }, jump, false), "waiting");
  assert.equal(progressOf({ at_us: 500, playing: false }, jump, false), "reached");
});

test("the address names the step", () => {
  assert.equal(tourPlaceOf(tourFragment(4)), 4);
  assert.equal(tourPlaceOf("#tour=0"), 1);
  for (const other of ["", "#failover=0&kind=lost", "#tour=x", "#tour=123"]) assert.equal(tourPlaceOf(other), null);
});

const ASK = { question: "", kind: "number", unit: "duplicates", answer: "1,200", cluster: "" };

test("the predictions of a class are one bar for each figure, and the run's answer is marked only when it is known", () => {
  const counts = [["7", 3], ["1200", 2], ["4", 1], ["1:5", 9]];
  assert.deepEqual(histogramOf(ASK, counts, null, false).bars.map(({ label, count, right }) => [label, count, right]), [["4", 1, false], ["7", 3, false], ["1200", 2, false]]);
  assert.deepEqual(histogramOf(ASK, counts, null, true).bars.map(({ right }) => right), [false, false, true]);
});

test("many figures are put into ranges of one width", () => {
  const counts = Array.from({ length: 40 }, (_, at) => [String(at * 10), 1]);
  const { bars, others } = histogramOf({ ...ASK, answer: "200" }, counts, null, true);
  assert.equal(bars.length, 12);
  assert.equal(bars.reduce((sum, { count }) => sum + count, 0) + others, 40);
  assert.deepEqual(bars.filter(({ right }) => right).map(({ label }) => label), ["198–230"]);
});

test("positions that cover the same messages share a bar, and are judged as the answer's", () => {
  const same = (_cluster, one, other) => new Set(["1:4", "1:5"]).has(one) && new Set(["1:4", "1:5"]).has(other);
  const ask = { question: "", kind: "position", unit: "", answer: "1:5", cluster: "a" };
  const { bars } = histogramOf(ask, [["1:4", 2], ["1:5", 1], ["1:-1", 1]], { same }, true);
  assert.deepEqual(bars, [{ label: "1:-1", count: 1, right: false }, { label: "1:4", count: 3, right: true }]);
  const many = Array.from({ length: 15 }, (_, at) => [`1:${at + 10}`, at + 1]);
  const found = histogramOf(ask, many, { same }, false);
  assert.deepEqual([found.bars.length, found.others, found.bars[0].label], [12, 6, "1:13"]);
});

test("parts of the page that a step names stay, and a panel needs the section below the logs", () => {
  const steps = [{ show: [], panel: "" }, { show: ["side"], panel: "" }, { show: ["tabs"], panel: "migration" }];
  assert.deepEqual([0, 1, 2].map((at) => partsShown(steps, at)), [[], ["side"], ["side", "tabs", "time"]]);
});

test("a tour whose steps name no parts shows the whole page", () => {
  assert.equal(partsShown([{ show: [], panel: "" }, { show: [], panel: "migration" }], 0), null);
});

test("a text is cut at its terms, in their order and at whole words", () => {
  const cut = cutAtTerms("reentry of an entry: acked", [["entry", "entry"], ["acked", "acknowledged"]]);
  assert.deepEqual(cut, ["reentry of an ", { text: "entry", label: "entry" }, ": ", { text: "acked", label: "acknowledged" }]);
  assert.deepEqual(cutAtTerms("nothing here", [["entry", "entry"]]), ["nothing here"]);
});
