/**
 * Folds the messages of the answer to "what if this region goes down" and computes its figures. Pure.
 * Medians and ranges are computed over the runs received so far.
 *
 * @typedef {object} Answer
 * @property {"none" | "waiting" | "running" | "done" | "error" | "cancelled"} state
 * @property {object | null} asked the question as it is run: from, to, mode, period_us, runs
 * @property {object[]} runs the figures received so far, each with its seed
 * @property {number} before number of questions that are answered first
 * @property {{error: string, hint: string} | null} error
 */

import { halves, seconds, span, whole } from "./format.js";

/** @returns {Answer} */
export const noAnswer = () => ({ state: "none", asked: null, runs: [], before: 0, error: null });

/** @returns {Answer} */
export function foldAnswer(answer, message) {
  if (message.type === "waiting") return { ...answer, state: "waiting", before: message.before };
  if (message.type === "asked") return { ...answer, state: "running", asked: message };
  if (message.type === "run") return { ...answer, state: "running", runs: [...answer.runs, { ...message, stranded_processed: message.stranded - message.stranded_unprocessed, on_the_way: message.stranded_unprocessed - message.stranded_missing }] };
  if (message.type === "done") return { ...answer, state: "done" };
  if (message.type === "error") return { ...answer, state: "error", error: { error: message.error, hint: message.hint ?? "" } };
  return answer;
}

/** The figures that are shown for each run. Those with `harm` are drawn in the colour for harm. */
export const FIGURES = [
  { name: "duplicates", says: "duplicates", words: (value) => `${halves(value)} ${value === 1 ? "duplicate" : "duplicates"}`, harm: true, always: true },
  { name: "stranded_missing", says: "not replicated (unread)", words: (value) => `${halves(value)} not replicated (unread)`, harm: true, always: false },
  { name: "on_the_way", says: "on the way at the move, arrived later", words: (value) => `${halves(value)} on the way`, harm: false, always: false, row: true },
  { name: "stranded_processed", says: "not replicated (already processed)", words: (value) => `${halves(value)} not replicated (already processed)`, harm: false, always: false },
  { name: "lost", says: "lost", words: (value) => `${halves(value)} lost`, harm: true, always: false },
  { name: "redeliveries", says: "redelivered, never acknowledged", words: (value) => `${halves(value)} redelivered`, harm: false, always: false },
  { name: "outage_us", says: "delivery gap", words: (value) => `delivery gap ${shortSpan(value)}`, harm: false, always: true },
];

/** The figures that get a row: those always shown, and those that are not 0 in some run. */
export const figuresOf = (runs) => FIGURES.filter((figure) => figure.always || runs.some((run) => run[figure.name]));

/** The figures that are named in the sentence: those of harm when not 0 in every run, the others when their median is not 0; what arrives later only has a row. */
const inSentence = (runs) => figuresOf(runs).filter((figure) => !figure.row).filter((figure) => figure.always || figure.harm || spreadOf(runs, figure.name)?.median > 0);

/** Whether a figure differs between the runs. A figure that does not differ is not plotted. */
export const differs = (runs, name) => runs.some((run) => run[name] !== runs[0][name]);

/** @returns {string} "5 s", "1.24 s", "340 ms" */
export const shortSpan = (value_us) => (value_us >= 1e6 ? `${seconds(value_us, 2).replace(/\.?0+$/, "")} s` : span(value_us));

/** The label of a value under a plot: a number or a span. */
export const valueWords = (figure, value) => (value === null ? "never" : figure.name.endsWith("_us") ? shortSpan(value) : whole(value));

/**
 * @param {object[]} runs
 * @param {string} name
 * @returns {{median: number, low: number, high: number, never: number} | null} over the runs that have the figure
 */
export function spreadOf(runs, name) {
  const values = runs.map((run) => run[name]).filter((value) => value !== null && value !== undefined).sort((one, other) => one - other);
  if (!values.length) return null;
  const middle = values.length >> 1;
  const median = values.length % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return { median, low: values[0], high: values.at(-1), never: runs.length - values.length };
}

/**
 * @param {Answer} answer
 * @param {{from: string, to: string, mode: string} | null} failure the failure that would be asked about
 * @returns {import("./format.js").TextPart[]} parts of the headline sentence
 */
export function sentenceOf(answer, failure) {
  const from = answer.asked?.from ?? failure?.from;
  if (!from) return ["How many duplicates?"];
  const to = answer.asked?.to ?? failure.to;
  const mode = answer.asked?.mode ?? failure.mode;
  const begins = mode === "crash" ? `If ${from} goes down` : `If consumers move from ${from} to ${to} (${mode})`;
  if (!answer.runs.length) return [mode === "crash" ? `${begins}: how many duplicates in ${to}?` : `${begins}: how many duplicates?`];
  /** @type {import("./format.js").TextPart[]} */
  const parts = [`${begins}: `];
  for (const figure of inSentence(answer.runs)) {
    if (parts.length > 1) parts.push(", ");
    parts.push(...figureParts(answer.runs, figure));
  }
  return [...parts, "."];
}

function figureParts(runs, figure) {
  const spread = spreadOf(runs, figure.name);
  if (spread === null) return [{ harm: figure.name === "outage_us" ? "no delivery in the target" : `no ${figure.says}` }];
  const strong = figure.words(figure.name.endsWith("_us") ? Math.round(spread.median) : spread.median);
  const range = spread.low === spread.high ? [] : [" ", { soft: `(${valueWords(figure, spread.low)} to ${valueWords(figure, spread.high)})` }];
  const never = spread.never ? [" ", { harm: `(never in ${spread.never} of ${runs.length})` }] : [];
  return [figure.harm && spread.high > 0 ? { harm: strong } : { strong }, ...range, ...never];
}

/** @returns {{cause: string, count: number, share: number, percent: number}[]} causes summed over all runs, most frequent first; the percentages add up to 100 */
export function causesOf(runs) {
  const sums = new Map();
  for (const run of runs) for (const [cause, count] of Object.entries(run.by_cause ?? {})) if (count) sums.set(cause, (sums.get(cause) ?? 0) + count);
  const total = [...sums.values()].reduce((sum, count) => sum + count, 0);
  const causes = [...sums].map(([cause, count]) => ({ cause, count, share: count / total, percent: Math.floor((100 * count) / total) })).sort((one, other) => other.count - one.count);
  // the largest remainders are rounded up
  const left = 100 - causes.reduce((sum, { percent }) => sum + percent, 0);
  const remainder = ({ count }) => (100 * count) % total;
  for (const one of [...causes].sort((a, b) => remainder(b) - remainder(a)).slice(0, causes.length ? left : 0)) one.percent += 1;
  return causes;
}

/** @returns {string} how the runs differ from each other, as a text */
export function rule(asked) {
  const last = asked.runs.at(-1);
  const step_us = asked.runs[1].at_us - asked.runs[0].at_us;
  return `Run 1 has seed 1 and moves its consumers at ${seconds(asked.runs[0].at_us)} s; each further run has the next seed and everything ${span(step_us)} later, up to ${seconds(last.at_us)} s: ${asked.runs.length} instants of one snapshot period (${span(asked.period_us)}), because the number of duplicates depends most on how long ago the last snapshot was taken.`;
}
