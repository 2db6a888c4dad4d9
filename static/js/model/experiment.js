/**
 * The results of an experiment as texts and places of a chart. Pure.
 *
 * @typedef {{name: string, title: string, unit: string}} Measure
 * @typedef {{median: number | null, p95: number | null, largest: number | null, interval?: [number, number] | null}} Figures interval: of the median, 95 %
 * @typedef {object} PointResults
 * @property {number} number
 * @property {string[]} values one for each axis
 * @property {number} finished
 * @property {number} failed
 * @property {number} delivering runs that ended before the backlog of a failover had drained
 * @property {number} never runs that never reached what is measured
 * @property {[value: number, runs: number][]} dots
 * @property {{[measure: string]: Figures}} figures
 * @property {number | null} within runs within the wanted bound
 * @property {number | null} median_run
 * @property {number | null} worst_run
 *
 * @typedef {object} Results
 * @property {number} runs
 * @property {number} [seeds] of each setting
 * @property {string} measure the one that is drawn
 * @property {Measure[]} measures
 * @property {string[]} axes
 * @property {number | null} at_most the wanted bound
 * @property {PointResults[]} points
 * @property {{run: number, point: number, seed: number, reason: string}[]} failed
 */

import { NOT_BY_THE_END, shortSpan } from "./answer.js";
import { capitalised, whole } from "./format.js";

/** Most parts of an axis of the chart. */
const MOST_TICKS = 6;

/** @param {Results} results @returns {Measure} */
export const mainMeasure = (results) => results.measures.find((one) => one.name === results.measure) ?? results.measures[0];

/** @param {string} unit @param {number | null} value @returns {string} "12", "1.4 s", "not by the end" */
export const valueWords = (unit, value) => (value === null ? NOT_BY_THE_END : unit === "us" ? shortSpan(value) : whole(value));

/** @param {Results} results @returns {string} a note about runs that ended too early; empty if none did */
export function openNote(results) {
  const runs = results.points.reduce((sum, point) => sum + (point.delivering ?? 0), 0);
  return runs ? ` ${runs === 1 ? "1 run was" : `${runs} runs were`} still delivering at the end: numbers of messages are at least these. A later \`until\` in the experiment lets them finish.` : "";
}

/** Most settings whose interval is written out. */
const INTERVALS_SHOWN = 4;

/** @param {Results} results @returns {string} how certain the medians are: their intervals, or that runs of one seed have none */
export function intervalNote(results) {
  const { name, unit } = mainMeasure(results);
  const known = results.points.filter((point) => point.figures[name]?.interval);
  const words = ({ figures }) => figures[name].interval.map((value) => valueWords(unit, value)).join(" to ");
  if (known.length === 1 && results.points.length === 1) return ` The median is ${words(known[0])} with 95 % confidence.`;
  if (known.length) return ` With 95 % confidence the median is ${known.slice(0, INTERVALS_SHOWN).map((point) => `${words(point)} with ${pointLabel(results, point)}`).join(", ")}.`;
  const several = results.points.some((point) => point.finished > 1);
  return results.seeds === 1 && several ? " All runs have one seed: other random traffic may give another median. With `seeds: 20` and `phases: by-seed`, as in My set-up, the median has an interval." : "";
}

/** @param {Results} results @param {PointResults} point @returns {string} "500 ms", or "period 500, queue 10" where several parameters vary */
export function pointLabel(results, point) {
  if (point.values.length === 0) return "as written";
  if (point.values.length === 1) return withUnit(results.axes[0], point.values[0]);
  return point.values.map((value, at) => `${lastStep(results.axes[at])} ${withUnit(results.axes[at], value)}`).join(", ");
}

/** Units of settings, which the brokers put at the end of the names. @type {[ending: string, unit: string][]} */
const UNITS = [["Millis", "ms"], ["Seconds", "s"], ["Minutes", "min"]];

/** @param {string} path @param {string} value @returns {string} "250 ms" for a number of a setting whose name ends in Millis */
function withUnit(path, value) {
  const unit = UNITS.find(([ending]) => path.endsWith(ending))?.[1];
  return unit && /^\d+$/.test(value) ? `${value} ${unit}` : value;
}

/** @param {string} path @returns {string} the last name of a dotted path */
const lastStep = (path) => path.slice(path.lastIndexOf(".") + 1);

/** @param {Results} results @returns {string} the headline: the lowest and the highest median with their settings */
export function headline(results) {
  const measure = mainMeasure(results);
  const known = results.points.filter((point) => point.finished > 0);
  if (!known.length) return "No run is finished yet";
  const medianOf = (point) => point.figures[measure.name].median;
  const order = [...known].sort((one, other) => (medianOf(one) ?? Infinity) - (medianOf(other) ?? Infinity));
  const [low, high] = [order[0], order[order.length - 1]];
  const words = (point) => `${point.delivering && measure.unit !== "us" ? "at least " : ""}${valueWords(measure.unit, medianOf(point))}`;
  const title = capitalised(measure.title);
  if (known.length === 1) return `${title}: median ${words(low)}`;
  if (medianOf(low) === medianOf(high)) return `${title}: median ${words(low)} with every setting`;
  return `${title}: median ${words(low)} with ${pointLabel(results, low)}, ${words(high)} with ${pointLabel(results, high)}`;
}

/** The measures beside the main one that are not 0 everywhere. @param {Results} results @returns {Measure[]} */
export const otherMeasures = (results) =>
  results.measures.filter((one) => one.name !== results.measure && results.points.some((point) => point.finished && point.figures[one.name].largest !== 0));

/**
 * The axis of the chart: from 0 to a round number that is not below any value or the bound.
 * @param {Results} results
 * @returns {{most: number, ticks: number[]}}
 */
export function axisOf(results) {
  const values = results.points.flatMap((point) => point.dots.map(([value]) => value));
  const highest = Math.max(1, results.at_most ?? 0, ...values);
  const rough = highest / MOST_TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10));
  const count = Math.ceil(highest / step);
  return { most: count * step, ticks: Array.from({ length: count + 1 }, (_, at) => at * step) };
}

/** The radius of a dot that stands for some runs, px: its area grows with their number. @param {number} runs */
export const radiusOf = (runs) => Math.min(9, 3 * Math.sqrt(runs));
