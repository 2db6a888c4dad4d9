/** The model of a guided tour: what is played to a step, what the learner typed, and where the lab is. */

import assert from "node:assert/strict";
import test from "node:test";
import { cutAtTerms, FAST_S, partsOf, partsShown, progressOf, readGuess, revealed, SLOW_S, tourFragment, tourPlaceOf } from "../../static/js/model/tour.js";

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
  assert.equal(revealed(ask, "12"), "Your prediction: 12. In this run: 1,200 duplicates.");
  assert.equal(revealed(ask, "1200"), "Your prediction is right: 1,200 duplicates.");
  assert.equal(revealed(ask, null), "In this run: 1,200 duplicates.");
  assert.equal(revealed({ ...ask, answer: "1" }, "2"), "Your prediction: 2. In this run: 1 duplicate.");
  const position = { kind: "position", unit: "", answer: "1:4" };
  assert.equal(revealed(position, "1:4", true), "Your prediction is right: 1:4.");
  assert.equal(revealed(position, "1:3"), "Your prediction: 1:3. In this run: 1:4.");
  assert.equal(revealed(position, "1:3", true), "Your prediction, 1:3, is right: it covers the same messages as 1:4.");
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
