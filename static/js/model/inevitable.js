/** Texts and addresses of “When did it become inevitable?”: the answer, one point of the curve, the query. Independent of the page. */

import { counted, seconds, whole } from "./format.js";

/** Limits of the inputs and what they are at first, as `simulator.inevitable` has them (tests/visualizer/test_inevitable.py). */
export const INPUTS = {
  reruns: { words: "re-runs per instant", first: 30, least: 5, most: 100 },
  instants: { words: "instants", first: 16, least: 2, most: 20 },
  periods: { words: "snapshot periods or heartbeats before the failover", first: 3, least: 1, most: 20 },
  spread: { words: "% that constant durations may be shorter", first: 20, least: 0, most: 90 },
};

export const MORE_THAN_MAX = 1_000_000;

/**
 * @typedef {object} Share
 * @property {number} hits
 * @property {number} share millionths, as are `low` and `high`
 * @property {number} low
 * @property {number} high
 */
/**
 * @typedef {object} CurvePoint
 * @property {number} at_us
 * @property {number} runs
 * @property {number} failed
 * @property {Share} more
 * @property {Share} loss
 * @property {[number, number, number]} duplicates least, median, most
 * @property {{number: number, duplicates: number, lost: number}} worst
 * @property {string} key of the worst re-run
 */

/** @param {number} millionths @returns {string} "43 %" */
export const percent = (millionths) => `${Math.round(millionths / 10_000)} %`;

/** @param {Share} share @returns {string} "60 % (42 to 75 %)" */
export const shareWords = ({ share, low, high }) => `${percent(share)} (${Math.round(low / 10_000)} to ${percent(high)})`;

/** @param {Object<string, string | number | undefined>} query @returns {string} the query string; what is not given is left out */
export function queryOf(query) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
}

/** @returns {string} what is asked for */
export const moreWords = (more_than) => `more than ${counted(more_than, "duplicate")}`;

/** The answer in one sentence. @param {any} answer @returns {string} */
export function answerWords({ points, decided, more_than, same, failures, failure }) {
  if (!decided || points.length === 0) return "";
  const first = points[0];
  const none = failures[failure].at_us;
  if (same) return `All re-runs have the same figures, so no random draw matters: ${counted(first.worst.duplicates, "duplicate")} each.`;
  if (!decided.more) return `It stays open until the failover at ${seconds(none)} s whether there are ${moreWords(more_than)}: ${percent(points.at(-1).more.share)} of the re-runs from there have them.`;
  const { at_us, yes } = decided.more;
  const result = yes ? `every re-run has ${moreWords(more_than)}` : `no re-run has ${moreWords(more_than)}`;
  if (at_us === first.at_us) return `From the earliest instant on, ${seconds(at_us)} s, ${result}.`;
  return `From ${seconds(at_us)} s on, ${result}. Of the re-runs from ${seconds(first.at_us)} s, ${percent(first.more.share)} have more.`;
}

/**
 * What re-runs draw at random beside what the scenario does, in one sentence.
 * @param {{spread?: string | number, arrivals?: string} | null} query
 * @returns {string}
 */
export function drawWords(query) {
  const parts = [Number(query?.spread) > 0 ? `constant durations up to ${query.spread} % shorter` : "", query?.arrivals === "poisson" ? "random intervals of producers" : ""].filter(Boolean);
  return parts.length ? `Re-runs also draw what this scenario holds constant: ${parts.join(", and ")}.` : "";
}

/** What is known about losses, in one sentence. @param {any} answer @returns {string} */
export function lossWords({ points, decided }) {
  if (!decided || points.every(({ loss }) => loss.hits === 0)) return "";
  const from = decided.loss?.yes ? ` From ${seconds(decided.loss.at_us)} s on, every re-run loses a message.` : "";
  return `Probability of at least one lost message: ${shareWords(points[0].loss)} at ${seconds(points[0].at_us)} s.${from}`;
}

/** @param {CurvePoint} point @param {number} more_than @returns {string} */
export function pointWords(point, more_than) {
  const [least, median, most] = point.duplicates;
  const failed = point.failed ? ` ${counted(point.failed, "re-run")} could not be carried out.` : "";
  return `${seconds(point.at_us)} s: ${point.more.hits} of ${point.runs} re-runs have ${moreWords(more_than)}, ${shareWords(point.more)}. Duplicates: ${whole(least)} to ${whole(most)}, median ${whole(median)}.${failed}`;
}

/** Progress, or why there is no answer. @param {any} answer null while there is none @returns {string} */
export function statusWords(answer) {
  if (!answer || answer.state === "done") return "";
  if (answer.state === "refused" || answer.state === "failed") return [answer.words, answer.hint].filter(Boolean).join(" ");
  if (answer.state === "cancelled") return `Cancelled after ${whole(answer.done)} of ${counted(answer.of, "re-run")}.`;
  return answer.of ? `${whole(answer.done)} of ${counted(answer.of, "re-run")} done…` : "Running it as it was…";
}

/** @param {CurvePoint} point @returns {string} */
export function worstWords({ worst }) {
  return `Worst re-run: ${counted(worst.duplicates, "duplicate")}${worst.lost ? `, ${whole(worst.lost)} lost` : ""}.`;
}
