import assert from "node:assert/strict";
import { test } from "node:test";

import { assumptionsOf, causesOf, differs, figuresOf, foldAnswer, noAnswer, progressWords, recountProgress, recountWords, reducedWords, rule, sentenceOf, shortSpan, sizeWords, spreadOf, whatIfTitle, whatIfWords } from "../../static/js/model/answer.js";
import { causeWords } from "../../static/js/protocols/light_table.js";
import { whole } from "../../static/js/model/format.js";
import { placeInText } from "../../static/js/model/text_place.js";
import { fragmentOf, textOf } from "../../static/js/wire/text_link.js";
import { dotPlaces } from "../../static/js/pages/set_up_answer.js";

const run = (seed, duplicates, more = {}) => ({ run: seed - 1, point: 0, status: "finished", phase_us: (seed - 1) * 50_000, seed, duplicates, stranded: 5, stranded_unprocessed: 2, stranded_missing: 2, lost: 0, redeliveries: 0, outage_us: 5_000_000, drained_us: 900_000, delivering: 0, by_cause: { ack_hole: duplicates }, ...more });
const size = { runs: 3, rows: 4_100_000, core_s: 50, beside_core_s: 80, cores: 2, rate: 2000, capacity: 2118, utilisation: 0.944 };
const slow_acks = "Assumed, not entered: no slow acks. If 1 % of the acks were held for 500 ms";
const asked = { type: "asked", begins: "If a goes down", from: "a", to: "b", mode: "crash", fault: "", at_us: 4_000_000, period_us: 1_000_000, period_says: "snapshot period", assumed: [], readers: "consumers", beside: "with-slow-acks", beside_says: slow_acks, size, runs: [{ at_us: 4_000_000 }] };
const statusOf = (rows, more = {}) => ({ type: "status", state: "running", runs: 6, finished: rows.length, left_s: 12, results: { rows, points: [{ figures: { duplicates: { interval: [7, 31] } } }] }, ...more });
const text = (parts) => parts.map((part) => (typeof part === "string" ? part : (part.strong ?? part.harm ?? part.soft))).join("");
const answerOf = (...runs) => [asked, statusOf(runs)].reduce(foldAnswer, noAnswer());

test("the sentence contains median and range over the runs received so far", () => {
  assert.equal(text(sentenceOf(noAnswer(), { begins: "If a goes down", to: "b", mode: "crash" })), "If a goes down: how many duplicates in b?");
  assert.equal(text(sentenceOf(answerOf(run(1, 7)))), "If a goes down: 7 duplicates, 2 not replicated (unread), delivery gap 5 s, backlog acked after 900 ms.");
  assert.match(text(sentenceOf(answerOf(run(1, 7), run(2, 31), run(3, 12)))), /^If a goes down: 12 duplicates \(7 to 31\), 2 not replicated/);
});

test("a run whose backlog has not drained makes the figures lower bounds", () => {
  const open = { delivering: 1, drained_us: null };
  const words = text(sentenceOf(answerOf(run(1, 7, open), run(2, 9, open))));
  assert.match(words, /at least 8 duplicates \(7 to 9\)/);
  assert.match(words, /still delivering at the end\.$/);
  assert.match(text(sentenceOf(answerOf(run(1, 7, open), run(2, 9)))), /still delivering at the end in 1 of 2 runs/);
});

test("messages that arrive after a planned move are no harm and not in the sentence", () => {
  const planned = [run(1, 7, { stranded: 45, stranded_unprocessed: 45, stranded_missing: 0 })];
  assert.equal(text(sentenceOf(answerOf(...planned))), "If a goes down: 7 duplicates, delivery gap 5 s, backlog acked after 900 ms.");
  const rows = figuresOf(answerOf(...planned).runs);
  assert.deepEqual(rows.map(({ name, harm }) => [name, harm]), [["duplicates", true], ["on_the_way", false], ["outage_us", false], ["drained_us", false]]);
});

test("percentages add up to 100, and the headline rounds as the figure below it", () => {
  const { runs } = answerOf(run(1, 1, { by_cause: { ack_hole: 62, after_newest_snapshot: 33, update_in_flight: 4, not_in_target_yet: 1 } }), run(2, 1, { by_cause: { ack_hole: 1, after_newest_snapshot: 1, update_in_flight: 1 } }));
  assert.equal(causesOf(runs).reduce((sum, { percent }) => sum + percent, 0), 100);
  assert.deepEqual(causesOf([run(1, 3, { by_cause: { a: 1, b: 1, c: 1 } })]).map(({ percent }) => percent), [34, 33, 33]);
  assert.match(text(sentenceOf(answerOf(run(1, 96), run(2, 97)))), /: 96\.5 duplicates \(96 to 97\)/);
});

test("losses are named as soon as one run has one, redeliveries without ack only when the median is not 0", () => {
  assert.match(text(sentenceOf(answerOf(run(1, 7), run(2, 7), run(3, 7, { lost: 1, redeliveries: 4 })))), /0 lost \(0 to 1\)/);
  assert.doesNotMatch(text(sentenceOf(answerOf(run(1, 7), run(2, 7, { redeliveries: 4 }), run(3, 7)))), /redelivered/);
});

test("a run without delivery in the target is counted separately and named", () => {
  assert.deepEqual(spreadOf([run(1, 1, { outage_us: null }), run(2, 1)], "outage_us"), { median: 5_000_000, low: 5_000_000, high: 5_000_000, never: 1 });
  assert.match(text(sentenceOf(answerOf(run(1, 1, { outage_us: null }), run(2, 1)))), /delivery gap 5 s \(not by the end in 1 of 2\)/);
  assert.match(text(sentenceOf(answerOf(run(1, 1, { outage_us: null })))), /no delivery in the target/);
});

test("the median of an even number of runs is the mean of the middle two", () => {
  assert.equal(spreadOf([1, 2, 4, 9].map((value, at) => run(at, value)), "duplicates").median, 3);
});

test("an error keeps the runs received so far, and a status without results, too", () => {
  const answer = foldAnswer(answerOf(run(1, 7)), { type: "error", error: "Down.", hint: "Again." });
  assert.deepEqual([answer.state, answer.runs.length], ["error", 1]);
  assert.equal(foldAnswer(answerOf(run(1, 7)), statusOf([], { results: undefined })).runs.length, 1);
});

test("progress has the runs and the time left, and a queued question what is missing", () => {
  assert.equal(progressWords(answerOf(run(1, 7)), 3), "1 of 3 runs, about 5 s left");
  const queued = [asked, { type: "status", state: "queued", words: "Queued.", note: "No worker." }].reduce(foldAnswer, noAnswer());
  assert.equal(progressWords(queued, 3), "Queued. No worker.");
  const rows_and_seconds = "about 4.1 million rows, about 25 s on 2 cores, then about 40 s for assumptions";
  assert.equal(sizeWords({ ...size, runs: 20 }), `20 runs, ${rows_and_seconds} and what would have helped`);
  const fast = { ...size, runs: 20, rate: 50_000, factor: 8 };
  assert.equal(sizeWords(fast), `20 runs at 1/8 of the ${whole(50_000)} messages per second, with as much less capacity of the consumers and messages counted times 8 (by how much the answer may differ is measured, too), ${rows_and_seconds} and what would have helped`);
  assert.match(sizeWords({ ...fast, changed_runs: 0 }), /for assumptions; what would have helped is not computed, because a run has too many rows$/);
});

test("what would have helped follows the answer, and its progress and failures are named", () => {
  const what_if = { of: 10, finished: 3, failed: [], seed: 7, variants: [], order: [] };
  const rows = [1, 2, 3].flatMap((seed) => [run(seed, 7), run(seed, 20, { point: 1, run: 2 + seed })]);
  const status = statusOf(rows);
  const answer = [asked, { ...status, results: { ...status.results, what_if } }].reduce(foldAnswer, noAnswer());
  assert.equal(progressWords(answer, 3), "answered; 3 of 10 runs for what would have helped, about 12 s left");
  assert.equal(foldAnswer(answer, statusOf([], { results: undefined })).what_if, what_if);
  assert.equal(whatIfTitle(what_if), "What would have helped in the run with the most duplicates (seed 7)");
  assert.match(whatIfWords(what_if), /^3 of 10 changed runs so far\. This is one of the runs/);
  assert.equal(whatIfWords({ ...what_if, of: 0, finished: 0, failed: ["it is too long"] }), "Not computed: it is too long.");
  const late = { type: "status", state: "running", runs: 6, finished: 1, left_s: 12, lasting: "7 s so far" };
  assert.equal(progressWords([asked, late].reduce(foldAnswer, noAnswer()), 3), "0 of 3 runs, about 7 s left, 7 s so far");
  assert.match(whatIfWords({ ...what_if, finished: 10, failed: ["it is too long"] }), /^This is one.* Not every change could be run again: it is too long\.$/);
});

test("what is assumed is listed with what it costs", () => {
  const beside = [1, 2, 3].map((seed) => run(seed, 20, { point: 1, run: 2 + seed }));
  const answer = answerOf(run(1, 7), run(2, 31), run(3, 12), ...beside);
  const plain = (words) => words.replaceAll(/\s/gu, " ");
  assert.deepEqual(assumptionsOf(answer).map(plain), [
    "The consumers are busy 94 % of their time (2 000 of at most 2 118 messages per second), so a backlog drains slowly.",
    "Assumed, not entered: no slow acks. If 1 % of the acks were held for 500 ms: 20 duplicates instead of 12 (medians of the same seeds and phases).",
    "The backlog needs 900 ms to drain (median). Another failover within this time would cause more duplicates.",
  ]);
  assert.match(plain(rule(answer)), /^The median number of duplicates is 7 to 31 with 95 % confidence\. Seeds and phases differ/);
});

test("runs at a part of the rate are multiplied, and by how much they may differ is named when it is measured", () => {
  const part = { ...asked, points: ["rate-over-4", "rate-over-8", "with-slow-acks"], size: { ...size, factor: 4 } };
  const measures = [{ name: "duplicates", unit: "count" }, { name: "lost", unit: "count" }, { name: "outage_us", unit: "us" }];
  const rows = [1, 2, 3].flatMap((seed) => [run(seed, 10 + seed), run(seed, 5, { point: 1, run: 2 + seed }), run(seed, 6, { point: 2, run: 5 + seed })]);
  const status = statusOf(rows);
  const results = { ...status.results, measures, reduced: { factor: 4, may_differ: null } };
  const answer = [part, { ...status, results }].reduce(foldAnswer, noAnswer());
  assert.deepEqual(answer.runs.map(({ duplicates, outage_us, by_cause }) => [duplicates, outage_us, by_cause.ack_hole]), [[44, 5_000_000, 44], [48, 5_000_000, 48], [52, 5_000_000, 52]]);
  assert.deepEqual(answer.beside.map(({ duplicates }) => duplicates), [24, 24, 24]);
  assert.match(rule(answer), /^The runs have 1\/4 of the .* counted times 4\. By how much the answer may differ .* is measured next/);
  assert.match(rule(answer), /at that rate 28 to 124 with 95 %/);
  assert.match(progressWords(answer, 3), /^answered; 3 of 3 runs at half of the rate/);
  const measured = { factor: 4, may_differ: { duplicates: 7.5, lost: 4, outage_us: 21_000 } };
  const done = [part, { ...status, results: { ...results, reduced: measured } }].reduce(foldAnswer, noAnswer());
  assert.match(reducedWords(done), /Medians at the whole rate may differ by 8 duplicates, 21 ms of the delivery gap: /);
  assert.equal(reducedWords({ ...done, asked }), "");
  assert.match(whatIfWords({ of: 10, finished: 10, failed: [] }, 4), /counted at 1\/4 of the rate; multiply them by 4/);
});

test("causes are shares over all runs, the most frequent first", () => {
  assert.deepEqual(causesOf([run(1, 1), run(2, 2, { by_cause: { ack_hole: 1, after_newest_snapshot: 6 } })]).map(({ cause, share }) => [cause, share]), [["after_newest_snapshot", 0.75], ["ack_hole", 0.25]]);
  assert.equal(causeWords("some_new_cause"), "some new cause");
});

test("the answer about a group names the fault, the leader's commits and the clients, and no time of a failover", () => {
  const fault = { ...asked, begins: "If node n1 crashes", from: "", to: "", mode: "", fault: "node.crash n1", period_us: 10_000_000, period_says: "time between two commits of the leader", assumed: ["The leader is at n1."], readers: "clients that reach the leader", beside: "", beside_says: "" };
  const of = (seed, duplicates, more = {}) => ({ run: seed - 1, point: 0, status: "finished", phase_us: 0, seed, duplicates, lost: 0, redeliveries: 3, unowned_us: 45_000_000, handovers: 9, delivering: 0, by_cause: { progress_unpersisted: duplicates }, ...more });
  const answer = [fault, statusOf([of(1, 70), of(2, 90), of(3, 80)])].reduce(foldAnswer, noAnswer());
  assert.equal(text(sentenceOf(answer)), "If node n1 crashes: 80 duplicates (70 to 90), 3 redelivered, 45 s without a reader, summed over streams.");
  assert.equal(text(sentenceOf(noAnswer(), fault)), "If node n1 crashes: how many duplicates?");
  assert.match(rule(answer), /its fault 10 s later in the time between two commits of the leader \(10 s\)/);
  const texts = assumptionsOf(answer);
  assert.equal(texts[0], "The leader is at n1.");
  assert.match(texts[1], /^The clients that reach the leader are busy/);
  assert.match(text(sentenceOf([fault, statusOf([of(1, 70, { delivering: 1 })])].reduce(foldAnswer, noAnswer()))), /at least 70 duplicates.*still delivering at the end\.$/);
  for (const cause of ["progress_unreported", "progress_unpersisted", "owner_declared_dead", "progress_rewound", "chunk_repeated", "leader_outdated"]) assert.notEqual(causeWords(cause), cause.replaceAll("_", " "), cause);
});

test("where nothing fails over, no delivery gap is named, and why there are no duplicates is said", () => {
  const none = { ...asked, begins: "If billing-1 is killed", from: "", to: "", mode: "", fault: "client.kill billing-1", assumed: ["Duplicates are counted for a move."] };
  const answer = [none, statusOf([run(1, 0, { outage_us: null, drained_us: null, stranded: 0, stranded_unprocessed: 0, stranded_missing: 0, by_cause: {} })])].reduce(foldAnswer, noAnswer());
  assert.equal(text(sentenceOf(answer)), "If billing-1 is killed: 0 duplicates.");
  assert.equal(assumptionsOf(answer)[0], "Duplicates are counted for a move.");
});

test("a figure that is equal in all runs does not differ", () => {
  assert.equal(differs([run(1, 1), run(2, 1)], "duplicates"), false);
  assert.deepEqual(figuresOf([run(1, 1)]).map((figure) => figure.name), ["duplicates", "stranded_missing", "outage_us", "drained_us"]);
});

test("spans are formatted with few digits", () => assert.deepEqual([5_000_000, 1_240_000, 340_000, 0].map(shortSpan), ["5 s", "1.24 s", "340 ms", "0 µs"]));

test("dots never overlap completely, and a high stack is compressed", () => {
  const { dots, height, low, high } = dotPlaces([3, 3, 4, null, 3, 9], { width: 112, dot: 12, highest: 66 });
  assert.deepEqual([low, high, dots[3]], [0, 9, null], "the scale starts at 0");
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

test("the recount by Spark is said as it is: not yet, the same, or an internal error", () => {
  const recount = { state: "running", over: false, words: "Step 3 of 12: count.", lasting: "7 s so far", note: "", hint: "", url: "", figures: [], checks: [] };
  assert.equal(recountProgress(null, ""), "");
  assert.equal(recountWords(null, ""), "Not counted again by Spark yet.");
  assert.equal(recountWords(recount, ""), "Not counted again by Spark yet.");
  assert.equal(recountProgress(recount, ""), "For the appendix Spark counts the runs again. Step 3 of 12: count. 7 s so far");
  assert.equal(recountWords(null, "Wait."), "Not counted again by Spark: Wait.");
  const done = { ...recount, state: "done", over: true, figures: [{}, {}], checks: [{ claim: "A.", held: 2, violated: 0, first: "" }] };
  assert.match(recountWords(done, ""), /all 2 runs again.*every figure and every cause is the same\. 1 checks of the rows and figures of each run: all held in every run\.$/);
  const broken = { ...done, checks: [...done.checks, { claim: "B.", held: 1, violated: 1, first: "seed 2, 1.000000 s: b" }] };
  assert.match(recountWords(broken, ""), /Internal error: 1 of 2 checks were violated\. Do not use/);
  assert.match(recountProgress(done, ""), /The attachment has its tables now\.$/);
  const failed = { ...recount, state: "failed", over: true, words: "Internal error: seed 2.", hint: "Do not use it." };
  assert.equal(recountProgress(failed, ""), "Internal error: seed 2. Do not use it.");
  assert.equal(recountWords(failed, ""), "Internal error: seed 2. Do not use it.");
});

test("a fault of a group is asked about in its own words, with the figures of groups", () => {
  const failure = { begins: "If the leader of meters crashes", from: "", to: "", mode: "", fault: "leader.crash meters", period_says: "period" };
  assert.equal(sentenceOf(noAnswer(), failure)[0], "If the leader of meters crashes: how many duplicates?");
  const asked = { ...failure, at_us: 12e6, period_us: 10e6, runs: [{ at_us: 12e6 }, { at_us: 17e6 }], size: { runs: 2, runs_whole: 2 } };
  const runs = [30, 34].map((duplicates) => ({ duplicates, lost: 0, redeliveries: 0, unowned_us: 24e6, handovers: 1 }));
  const said = sentenceOf({ ...noAnswer(), asked, runs }, failure).map((part) => part.harm ?? part.strong ?? part.soft ?? part).join("");
  assert.equal(said, "If the leader of meters crashes: 32 duplicates (30 to 34), 24 s without a reader, summed over streams.");
  assert.match(rule({ ...noAnswer(), asked, runs }), /its fault at 12\.000 s; .* 5 s later in the period \(10 s\)/);
  assert.match(rule({ ...noAnswer(), asked: { ...asked, period_us: 0 }, runs }), /commands are at the same instants in every run/);
});
