/** Texts of “When inevitable?”. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { answerWords, drawWords, lossWords, moreWords, pointWords, queryOf, shareWords, statusWords, worstWords } from "../../static/js/pages/inevitable_panel.js";

const share = (hits, runs = 30) => ({ hits, share: Math.floor((1e6 * hits) / runs), low: 100_000, high: 750_000 });
const point = (at_us, more, loss = 0) => ({ at_us, runs: 30, failed: 0, more: share(more), loss: share(loss), duplicates: [2, 7, 14], worst: { number: 3, duplicates: 14, lost: 0 }, key: "rerun-0" });
const answer = (decided, points, changed = {}) => ({ points, decided: { more: decided, loss: { at_us: 0, yes: false } }, more_than: 7, same: false, failures: [{ at_us: 5_700_000, label: "billing" }], failure: 0, ...changed });

test("the answer names the instant from which all re-runs agree, and what it was before", () => {
  const points = [point(2_700_000, 15), point(5_500_000, 30), point(5_700_000, 30)];
  assert.equal(answerWords(answer({ at_us: 5_500_000, yes: true }, points)), "From 5.500 s on, every re-run has more than 7 duplicates. Of the re-runs from 2.700 s, 50 % have more.");
  assert.equal(answerWords(answer({ at_us: 2_700_000, yes: false }, [point(2_700_000, 0)])), "From the earliest instant on, 2.700 s, no re-run has more than 7 duplicates.");
  assert.equal(answerWords(answer(null, points)), "It stays open until the failover at 5.700 s whether there are more than 7 duplicates: 100 % of the re-runs from there have them.");
  assert.match(answerWords(answer({ at_us: 2_700_000, yes: false }, points, { same: true })), /^All re-runs have the same figures, so no random draw matters: 14 duplicates each/);
  assert.equal(answerWords({ ...answer(null, points), decided: null }), "", "nothing is claimed before all have run");
});

test("losses are mentioned only where there are some", () => {
  assert.equal(lossWords(answer(null, [point(1, 3)])), "");
  const lost = { ...answer(null, [point(2_000_000, 3, 15)]), decided: { more: null, loss: { at_us: 4_000_000, yes: true } } };
  assert.equal(lossWords(lost), "Probability of at least one lost message: 50 % (10 to 75 %) at 2.000 s. From 4.000 s on, every re-run loses a message.");
});

test("a point is described with its interval, its spread and its worst re-run", () => {
  assert.equal(shareWords(share(15)), "50 % (10 to 75 %)");
  assert.equal(moreWords(1), "more than 1 duplicate");
  assert.equal(pointWords({ ...point(4_300_000, 18), failed: 1 }, 7), "4.300 s: 18 of 30 re-runs have more than 7 duplicates, 60 % (10 to 75 %). Duplicates: 2 to 14, median 7. 1 re-run could not be carried out.");
  assert.equal(worstWords({ ...point(1, 1), worst: { number: 0, duplicates: 1, lost: 2 } }), "Worst re-run: 1 duplicate, 2 lost.");
});

test("the status shows progress, a refusal with its remedy, and nothing once it is done", () => {
  const state = { done: 12, of: 480, words: "This run has no failover.", hint: "Fail over." };
  assert.equal(statusWords(null), "");
  assert.equal(statusWords({ ...state, state: "running" }), "12 of 480 re-runs done…");
  assert.equal(statusWords({ ...state, state: "running", of: 0 }), "Running it as it was…");
  assert.equal(statusWords({ ...state, state: "refused" }), "This run has no failover. Fail over.");
  assert.equal(statusWords({ ...state, state: "cancelled" }), "Cancelled after 12 of 480 re-runs.");
  assert.equal(statusWords({ ...state, state: "done" }), "");
});

test("it is said what re-runs draw beside what the scenario does", () => {
  assert.equal(drawWords(null), "");
  assert.equal(drawWords({ spread: "0", arrivals: "as-declared" }), "");
  assert.equal(drawWords({ spread: "0", arrivals: "poisson" }), "Re-runs also draw what this scenario holds constant: random intervals of producers.");
  assert.equal(drawWords({ spread: "20", arrivals: "poisson" }), "Re-runs also draw what this scenario holds constant: constant durations up to 20 % shorter, and random intervals of producers.");
});

test("an address has only what is given", () => {
  assert.equal(queryOf({ branch: 0, more_than: "", id: undefined, arrivals: "poisson" }), "branch=0&arrivals=poisson");
});
