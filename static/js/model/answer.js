/**
 * Folds the messages of the answer to "what if this region goes down" and computes its figures. Pure.
 * Medians and ranges are computed over the runs received so far.
 *
 * @typedef {object} Answer
 * @property {"none" | "running" | "done" | "error" | "cancelled"} state
 * @property {any} asked the question as it is run: from, to, mode, period_us, runs, size, beside, url
 * @property {any[]} runs the figures received so far, each with its seed
 * @property {any[]} beside the runs of what is tried beside it, with the same seeds
 * @property {any} point the median of each figure with its 95 % interval, as the server computes them
 * @property {any} what_if what would have helped in one of the runs, so far
 * @property {{factor: number, may_differ: Record<string, number> | null} | null} reduced what the rate of the runs was divided by, and by how much medians may differ
 * @property {any} status how far the worker is: words, note, left_s
 * @property {{error: string, hint: string} | null} error
 */

import { halves, seconds, span, whole } from "./format.js";

/** @returns {Answer} */
export const noAnswer = () => ({ state: "none", asked: null, runs: [], beside: [], point: null, what_if: null, reduced: null, status: null, error: null });

/** @returns {Answer} */
export function foldAnswer(answer, message) {
  if (message.type === "asked") return { ...answer, state: "running", asked: message };
  if (message.type === "status") return withStatus(answer, message);
  if (message.type === "done") return { ...answer, state: "done" };
  if (message.type === "error") return { ...answer, state: "error", error: { error: message.error, hint: message.hint ?? "" } };
  return answer;
}

/** Adds the finished runs of a status: those of the set-up as entered, and those of what is tried beside it. */
function withStatus(answer, status) {
  if (!status.results) return { ...answer, status };
  const factor = answer.asked.size.factor ?? 1;
  const counts = (status.results.measures ?? []).filter(({ unit }) => unit === "count").map(({ name }) => name);
  const rows = (status.results.rows ?? []).filter((row) => row.status === "finished").map((row) => atWholeRate(row, counts, factor));
  const known = new Set(answer.runs.map((run) => run.run));
  const fresh = rows.filter((row) => row.point === 0 && !known.has(row.run)).map((row) => runFrom(answer.asked, row));
  const place = answer.asked.points?.indexOf(answer.asked.beside) ?? 1;
  const { points, what_if, reduced } = status.results;
  return { ...answer, status, point: points?.[0] ?? null, what_if: what_if ?? null, reduced: reduced ?? null, runs: [...answer.runs, ...fresh], beside: rows.filter((row) => row.point === place) };
}

/** A run at a part of the rate, with its counts multiplied; times stay. */
function atWholeRate(row, counts, factor) {
  if (factor === 1) return row;
  const times_factor = (found) => Object.fromEntries(Object.entries(found).map(([name, value]) => [name, value === null ? null : value * factor]));
  const figures = Object.fromEntries(counts.filter((name) => name in row).map((name) => [name, row[name]]));
  return { ...row, ...times_factor(figures), by_cause: times_factor(row.by_cause) };
}

/** A run of the answer, from its row: the instant of its failover is that of the first one, later by its phase. */
const runFrom = (asked, row) => ({ ...row, at_us: asked.at_us + row.phase_us, stranded_processed: row.stranded - row.stranded_unprocessed, on_the_way: row.stranded_unprocessed - row.stranded_missing });

/** @returns {boolean} whether all runs of the set-up as entered are there; those beside it may still be made */
export const isAnswered = ({ asked, runs }) => asked !== null && runs.length >= asked.size.runs;

/** @returns {string} */
export const whatIfTitle = ({ seed }) => `What would have helped${seed === null ? "" : ` in the run with the most duplicates (seed ${seed})`}`;

/** @returns {string} how far the changed runs are, and why some are missing */
export function whatIfWords({ of, finished, failed }, factor = 1, fault = "") {
  if (!of && failed.length) return `Not computed: ${failed.join("; ")}.`;
  const part = factor > 1 ? ` Its messages are counted at 1/${factor} of the rate; multiply them by ${factor} for the whole rate.` : "";
  const when = fault ? "whose fault comes at another time" : "whose failover comes at another time since the last snapshot";
  const one = `This is one of the runs. In another one, ${when}, a change may help more or less.`;
  const missing = failed.length ? ` Not every change could be run again: ${failed.join("; ")}.` : "";
  return `${finished < of ? `${finished} of ${of} changed runs so far. ` : ""}${one}${part}${missing}`;
}

/** The figures that are shown for each run. Those with `harm` are drawn in the colour for harm; the sentence names none with `dots_only`. */
export const FIGURES = [
  { name: "duplicates", says: "duplicates", words: (value) => `${halves(value)} ${value === 1 ? "duplicate" : "duplicates"}`, harm: true, always: true },
  { name: "stranded_missing", says: "not replicated (unread)", words: (value) => `${halves(value)} not replicated (unread)`, harm: true, always: false },
  { name: "on_the_way", says: "on the way at the move, arrived later", words: (value) => `${halves(value)} on the way`, harm: false, always: false, dots_only: true },
  { name: "stranded_processed", says: "not replicated (already processed)", words: (value) => `${halves(value)} not replicated (already processed)`, harm: false, always: false, dots_only: true },
  { name: "lost", says: "lost", words: (value) => `${halves(value)} lost`, harm: true, always: false },
  { name: "redeliveries", says: "redelivered, not acknowledged before", words: (value) => `${halves(value)} redelivered`, harm: false, always: false },
  { name: "unowned_us", says: "without a reader, summed over streams", words: (value) => `${shortSpan(value)} without a reader, summed over streams`, harm: true, always: false },
  { name: "handovers", says: "handovers of streams", words: (value) => `${halves(value)} handovers`, harm: false, always: false, dots_only: true },
  { name: "outage_us", says: "delivery gap", words: (value) => `delivery gap ${shortSpan(value)}`, harm: false, always: true },
  { name: "drained_us", says: "until the backlog was acked", words: (value) => `backlog acked after ${shortSpan(value)}`, harm: false, always: false },
];

/** The figures that get a row: those always shown, and those that are not 0 in some run. */
export const figuresOf = (runs) => FIGURES.filter(({ name, always }) => (always && runs.some((run) => run[name] !== undefined)) || runs.some((run) => run[name]));

/** The figures that are named in the sentence: those of harm when not 0 in every run, the others when their median is not 0. What arrives later or is processed already only has a row. */
const inSentence = (runs) => figuresOf(runs).filter((figure) => !figure.dots_only).filter((figure) => figure.always || figure.harm || spreadOf(runs, figure.name)?.median > 0);

/** Whether a figure differs between the runs. A figure that does not differ is not plotted. */
export const differs = (runs, name) => runs.some((run) => run[name] !== runs[0][name]);

/** @returns {string} "5 s", "1.24 s", "340 ms" */
export const shortSpan = (value_us) => (value_us >= 1e6 ? `${seconds(value_us, 2).replace(/\.?0+$/, "")} s` : span(value_us));

/** What is said of a span that no run knows: a run shows only what happened before its end. */
export const NOT_BY_THE_END = "not by the end";

/** The label of a value under a plot: a number or a span. */
export const valueWords = (figure, value) => (value === null ? NOT_BY_THE_END : figure.name.endsWith("_us") ? shortSpan(value) : whole(value));

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
 * @param {{begins: string, to: string, mode: string} | null} failure the failure that would be asked about
 * @returns {import("./format.js").TextPart[]} parts of the headline sentence
 */
export function sentenceOf(answer, failure) {
  const about = answer.asked ?? failure;
  if (!about) return ["How many duplicates?"];
  if (!answer.runs.length) return [`${about.begins}: how many duplicates${about.mode === "crash" ? ` in ${about.to}` : ""}?`];
  /** @type {import("./format.js").TextPart[]} */
  const parts = [`${about.begins}: `];
  for (const figure of inSentence(answer.runs)) {
    if (!about.to && spreadOf(answer.runs, figure.name) === null) continue; // a time of a failover that there is not
    if (parts.length > 1) parts.push(", ");
    parts.push(...figureParts(answer.runs, figure));
  }
  const open = answer.runs.filter((run) => run.delivering).length;
  if (open) parts.push(", ", { harm: open === answer.runs.length ? "still delivering at the end" : `still delivering at the end in ${open} of ${answer.runs.length} runs` });
  return [...parts, "."];
}

function figureParts(runs, figure) {
  const spread = spreadOf(runs, figure.name);
  if (spread === null) return [{ harm: figure.name === "outage_us" ? "no delivery in the target" : `no ${figure.says}` }];
  const open = figure.harm && runs.some((run) => run.delivering);
  const strong = `${open ? "at least " : ""}${figure.words(figure.name.endsWith("_us") ? Math.round(spread.median) : spread.median)}`;
  const range = spread.low === spread.high ? [] : [" ", { soft: `(${valueWords(figure, spread.low)} to ${valueWords(figure, spread.high)})` }];
  const never = spread.never ? [" ", { harm: `(${NOT_BY_THE_END} in ${spread.never} of ${runs.length})` }] : [];
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
export function rule({ asked, point, runs, reduced = null }) {
  const interval = point?.figures?.duplicates?.interval?.map((value) => value * (asked.size.factor ?? 1));
  const of = reduced ? "at that rate " : "";
  const enclosed = interval && isAnswered({ asked, runs }) ? `The median number of duplicates is ${of}${whole(interval[0])} to ${whole(interval[1])} with 95 % confidence. ` : "";
  const { fault, period_us, period_says } = asked;
  const begin = `${reducedWords({ asked, reduced, runs })}${enclosed}`;
  if (!period_us) return `${begin}Seeds differ: run 1 has seed 1, each further run the next one (other random traffic). Nothing that repeats with a period is known of this scenario, so commands are at the same instants in every run.`;
  const [first, later, period] = [seconds(asked.runs[0].at_us), span(period_us / asked.runs.length), span(period_us)];
  if (fault) return `${begin}Seeds and phases differ: run 1 has seed 1 and its fault at ${first} s; each further run has the next seed (other random traffic) and its fault ${later} later in the ${period_says} (${period}).`;
  return `${begin}Seeds and phases differ: run 1 has seed 1 and moves its consumers at ${first} s; each further run has the next seed (other random traffic) and moves them ${later} later in the ${period_says} (${period}).`;
}

/** The figures whose possible difference is named, with the words after a number. */
const MAY_DIFFER = [["duplicates", "duplicates"], ["lost", "lost"], ["redeliveries", "redelivered"], ["outage_us", "of the delivery gap"], ["drained_us", "until the backlog was acked"]];

/** @returns {string} what was reduced, and by how much the medians may differ from those at the whole rate */
export function reducedWords({ asked, reduced, runs }) {
  const { factor = 1, rate } = asked.size;
  if (factor === 1) return "";
  const what = `The runs have 1/${factor} of the ${whole(rate)} messages per second and as much less capacity of the consumers; their messages are counted times ${factor}. `;
  if (!reduced?.may_differ) return `${what}By how much the answer may differ from that at the whole rate is measured next, at half of this rate. `;
  const named = MAY_DIFFER.filter(([name]) => reduced.may_differ[name] !== undefined && (name === "duplicates" || spreadOf(runs, name)?.median > 0));
  const words = named.map(([name, says]) => `${name.endsWith("_us") ? shortSpan(Math.ceil(reduced.may_differ[name])) : whole(Math.ceil(reduced.may_differ[name]))} ${says}`);
  return `${what}Medians at the whole rate may differ by ${words.join(", ")}: the runs were repeated at half of this rate, and the difference counts once for each halving of the whole rate and once more, at least 3 % of the figure. `;
}

/**
 * @param {Answer} answer
 * @returns {string[]} what the answer assumes, one sentence each
 */
export function assumptionsOf(answer) {
  const { asked, beside } = answer;
  if (!asked) return [];
  const found = [...asked.assumed];
  const { utilisation, capacity, rate } = asked.size;
  if (capacity) found.push(utilisationWords(asked.readers, utilisation, capacity, rate));
  if (asked.beside) found.push(besideWords(asked.beside_says, answer.runs, beside, asked.size.runs));
  const drained = spreadOf(answer.runs, "drained_us");
  if (drained) found.push(`The backlog needs ${shortSpan(drained.median)} to drain (median). Another failover within this time would cause more duplicates.`);
  return found;
}

function utilisationWords(readers, utilisation, capacity, rate) {
  const busy = `The ${readers} are busy ${Math.round(100 * utilisation)} % of their time (${whole(rate)} of at most ${whole(capacity)} messages per second)`;
  if (utilisation >= 1) return `${busy}: they cannot keep up, so the backlog grows with or without a failure.`;
  return utilisation >= 0.8 ? `${busy}, so a backlog drains slowly.` : `${busy}.`;
}

function besideWords(what, runs, beside, total) {
  const [with_it, as_entered] = [spreadOf(beside, "duplicates"), spreadOf(runs, "duplicates")];
  if (beside.length < total || !with_it) return `${what}: ${beside.length} of ${total} runs so far.`;
  return `${what}: ${halves(with_it.median)} duplicates instead of ${halves(as_entered.median)} (medians of the same seeds and phases).`;
}

/** @returns {string | null} how far the runs are */
export function progressWords(answer, total) {
  if (answer.state === "error") return `${answer.error.error} ${answer.error.hint}`;
  if (answer.state === "cancelled") return `stopped after ${answer.runs.length} of ${total} runs`;
  if (answer.state !== "running") return null;
  const { status, runs } = answer;
  if (!status) return "sending";
  if (status.state === "queued") return [status.words, status.lasting, status.note].filter(Boolean).join(" ");
  const lasting = status.lasting ? `, ${status.lasting}` : "";
  if (isAnswered(answer)) return `answered; ${afterwards(answer, total)}${leftWords(status.left_s)}${lasting}`;
  const share = (total - runs.length) / Math.max(1, status.runs - status.finished + (answer.asked.size.changed_runs ?? 0));
  return `${runs.length} of ${total} runs${leftWords(status.left_s === null ? null : status.left_s * share)}${lasting}`;
}

/** What is run after the answer. */
function afterwards({ asked, beside, what_if, reduced, status }, total) {
  if (asked.size.factor > 1 && !reduced?.may_differ) return `${Math.min(total, Math.max(0, status.finished - total))} of ${total} runs at half of the rate, for how much the answer may differ`;
  if (asked.beside && beside.length < total) return `${beside.length} of ${total} runs for the assumptions`;
  return `${what_if?.finished ?? 0} of ${what_if?.of ?? 0} runs for what would have helped`;
}

/**
 * What Spark's recount of an answer says.
 * @typedef {{state: string, over: boolean, words: string, lasting: string, note: string, hint: string, url: string, figures: any[], checks: {claim: string, held: number, violated: number, first: string}[]}} Recount
 */

/** @param {Recount["checks"]} checks @returns {string} the result of the checks of all runs */
export function checksWords(checks) {
  const violated = checks.filter((check) => check.violated).length;
  if (violated) return `Internal error: ${violated} of ${checks.length} checks were violated. Do not use this answer, and report the error with the experiment's YAML.`;
  return `${checks.length} checks of the rows and figures of each run: all held in every run.`;
}

/** @param {Recount | null} recount @param {string} refused why there is none @param {number} factor by which the rate was divided @returns {string} the result, for the attachment */
export function recountWords(recount, refused, factor = 1) {
  if (refused) return `Not counted again by Spark: ${refused}`;
  if (recount?.state === "done") return `Spark counted the rows of all ${recount.figures.length} runs again, without the engine's counting: every figure and every cause is the same. ${checksWords(recount.checks)}${factor > 1 ? ` Its tables have the messages of the runs, at 1/${factor} of the rate.` : ""}`;
  if (recount?.state === "failed") return `${recount.words} ${recount.hint}`;
  return "Not counted again by Spark yet.";
}

/** @param {Recount | null} recount @param {string} refused @returns {string} what is shown beside the button */
export function recountProgress(recount, refused) {
  if (!recount || recount.over || refused) return recount || refused ? `${recountWords(recount, refused)}${recount?.state === "done" ? " The attachment has its tables now." : ""}` : "";
  return `For the appendix Spark counts the runs again. ${[recount.words, recount.lasting, recount.note].filter(Boolean).join(" ")}`;
}

const leftWords = (left_s) => (left_s === null || left_s === undefined ? "" : `, about ${Math.max(1, Math.round(left_s))} s left`);

/** @returns {string} what the answer takes: "20 runs, about 4.1 million rows, about 25 s on 2 cores, then about 40 s for assumptions and what would have helped" */
export function sizeWords({ runs, factor = 1, rate, rows, core_s, beside_core_s, changed_runs, cores }) {
  const large = rows >= 1e6 ? `${(rows / 1e6).toFixed(1)} million` : `${Math.round(rows / 1000)} thousand`;
  const follows = changed_runs === 0 ? "assumptions; what would have helped is not computed, because a run has too many rows" : "assumptions and what would have helped";
  const after = `, then about ${Math.max(1, Math.round(beside_core_s / cores))} s for ${follows}`;
  const part = factor > 1 ? ` at 1/${factor} of the ${whole(rate)} messages per second, with as much less capacity of the consumers and messages counted times ${factor} (by how much the answer may differ is measured, too)` : "";
  const seconds_left = Math.max(1, Math.round(core_s / Math.min(cores, runs)));
  return `${runs} runs${part}, about ${large} rows, about ${seconds_left} s on ${cores} ${cores === 1 ? "core" : "cores"}${after}`;
}
