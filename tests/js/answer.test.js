import assert from "node:assert/strict";
import { test } from "node:test";

import { causesOf, differs, figuresOf, foldAnswer, noAnswer, sentenceOf, shortSpan, spreadOf } from "../../static/js/model/answer.js";
import { causeWords } from "../../static/js/model/cause_words.js";
import { placeInText } from "../../static/js/model/text_place.js";
import { fragmentOf, textOf } from "../../static/js/wire/text_link.js";
import { dotPlaces } from "../../static/js/layout/dots.js";

const run = (seed, duplicates, more = {}) => ({ type: "run", seed, duplicates, stranded: 5, stranded_unprocessed: 2, stranded_missing: 2, lost: 0, redeliveries: 0, outage_us: 5_000_000, by_cause: { ack_hole: duplicates }, ...more });
const asked = { type: "asked", from: "a", to: "b", mode: "crash", period_us: 1_000_000, runs: [] };
const text = (parts) => parts.map((part) => (typeof part === "string" ? part : (part.strong ?? part.harm ?? part.soft))).join("");
const answerOf = (...runs) => [asked, ...runs].reduce(foldAnswer, noAnswer());

test("the sentence contains median and range over the runs received so far", () => {
  assert.equal(text(sentenceOf(noAnswer(), { from: "a", to: "b", mode: "crash" })), "If a goes down: how many duplicates in b?");
  assert.equal(text(sentenceOf(answerOf(run(1, 7)))), "If a goes down: 7 duplicates, 2 not replicated (unread), 3 not replicated (already processed), delivery gap 5 s.");
  assert.equal(text(sentenceOf(answerOf(run(1, 7), run(2, 31), run(3, 12)))), "If a goes down: 12 duplicates (7 to 31), 2 not replicated (unread), 3 not replicated (already processed), delivery gap 5 s.");
});

test("messages that arrive after a planned move are no harm and not in the sentence", () => {
  const planned = [run(1, 7, { stranded: 45, stranded_unprocessed: 45, stranded_missing: 0 })];
  assert.equal(text(sentenceOf(answerOf(...planned))), "If a goes down: 7 duplicates, delivery gap 5 s.");
  const rows = figuresOf(answerOf(...planned).runs);
  assert.deepEqual(rows.map(({ name, harm }) => [name, harm]), [["duplicates", true], ["on_the_way", false], ["outage_us", false]]);
});

test("percentages add up to 100, and the headline rounds as the figure below it", () => {
  const { runs } = answerOf(run(1, 1, { by_cause: { ack_hole: 62, after_newest_snapshot: 33, update_in_flight: 4, not_in_target_yet: 1 } }), run(2, 1, { by_cause: { ack_hole: 1, after_newest_snapshot: 1, update_in_flight: 1 } }));
  assert.equal(causesOf(runs).reduce((sum, { percent }) => sum + percent, 0), 100);
  assert.deepEqual(causesOf([run(1, 3, { by_cause: { a: 1, b: 1, c: 1 } })]).map(({ percent }) => percent), [34, 33, 33]);
  assert.match(text(sentenceOf(answerOf(run(1, 96), run(2, 97)))), /: 96\.5 duplicates \(96 to 97\)/);
});

test("losses are named as soon as one run has one, redeliveries without ack only when the median is not 0", () => {
  assert.match(text(sentenceOf(answerOf(run(1, 7), run(2, 7), run(3, 7, { lost: 1, redeliveries: 4 })))), /0 lost \(0 to 1\)/);
  assert.doesNotMatch(text(sentenceOf(answerOf(run(1, 7), run(2, 7, { redeliveries: 4 }), run(3, 7)))), /delivered again/);
});

test("a run without delivery in the target is counted separately and named", () => {
  assert.deepEqual(spreadOf([run(1, 1, { outage_us: null }), run(2, 1)], "outage_us"), { median: 5_000_000, low: 5_000_000, high: 5_000_000, never: 1 });
  assert.match(text(sentenceOf(answerOf(run(1, 1, { outage_us: null }), run(2, 1)))), /delivery gap 5 s \(never in 1 of 2\)/);
  assert.match(text(sentenceOf(answerOf(run(1, 1, { outage_us: null })))), /no delivery in the target/);
});

test("the median of an even number of runs is the mean of the middle two", () => {
  assert.equal(spreadOf([1, 2, 4, 9].map((value, at) => run(at, value)), "duplicates").median, 3);
});

test("an error keeps the runs received so far, and a queued question has its place", () => {
  const answer = foldAnswer(answerOf(run(1, 7)), { type: "error", error: "Down.", hint: "Again." });
  assert.equal(answer.state, "error");
  assert.equal(answer.runs.length, 1);
  assert.equal(foldAnswer(noAnswer(), { type: "waiting", before: 3 }).before, 3);
});

test("causes are shares over all runs, the most frequent first", () => {
  assert.deepEqual(causesOf([run(1, 1), run(2, 2, { by_cause: { ack_hole: 1, after_newest_snapshot: 6 } })]).map(({ cause, share }) => [cause, share]), [["after_newest_snapshot", 0.75], ["ack_hole", 0.25]]);
  assert.equal(causeWords("some_new_cause"), "some new cause");
});

test("a figure that is equal in all runs does not differ", () => {
  assert.equal(differs([run(1, 1), run(2, 1)], "duplicates"), false);
  assert.deepEqual(figuresOf([run(1, 1)]).map((figure) => figure.name), ["duplicates", "stranded_missing", "outage_us"]);
});

test("spans are formatted with few digits", () => assert.deepEqual([5_000_000, 1_240_000, 340_000, 0].map(shortSpan), ["5 s", "1.24 s", "340 ms", "0 µs"]));

test("dots never overlap completely, and a high stack is compressed", () => {
  const { dots, height, low, high } = dotPlaces([3, 3, 4, null, 3, 9], { width: 112, dot: 12, highest: 66 });
  assert.deepEqual([low, high, dots[3]], [3, 9, null]);
  const places = dots.filter(Boolean).map((dot) => `${dot.along},${dot.up}`);
  assert.equal(new Set(places).size, places.length);
  assert.ok(dots.filter(Boolean).every((dot) => dot.along >= 0 && dot.along <= 100));
  assert.equal(height, 36);
  assert.ok(dotPlaces(new Array(20).fill(5), { width: 112, dot: 12, highest: 66 }).height <= 66);
});

test("a line and column are found in the text", () => {
  const yaml = "a: 1\n  rate: many, b\nlast";
  assert.deepEqual(placeInText(yaml, 2, 9), { start: 13, end: 17 });
  assert.deepEqual(placeInText(yaml, 3, 99), { start: yaml.length, end: yaml.length });
  assert.deepEqual(placeInText(yaml, 9, 1), { start: yaml.length, end: yaml.length });
});

test("a text survives encoding in a link, and a truncated link gives null", async () => {
  const text = "title: \u201cZwei Regionen\u201d\n" + "  a: {}\n".repeat(500);
  const fragment = await fragmentOf(text);
  assert.match(fragment, /^#yaml=[A-Za-z0-9_-]+$/);
  assert.ok(fragment.length < 400);
  assert.equal(await textOf(fragment), text);
  assert.equal(await textOf(fragment.slice(0, 40)), null);
  assert.equal(await textOf("#token=x"), null);
});
