/** The results of an experiment: headline, chart, and a table with the runs to open as labs. */

import { NOT_BY_THE_END, shortSpan } from "../model/answer.js";
import { capitalised, whole } from "../model/format.js";
import { openTask } from "./tasks.js";
import { allOf, element, found, required, setText, svgNode } from "../render/dom.js";
import { columnHeads, headCell } from "../render/terms.js";

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

/** Draws the results of an experiment: a line for each setting, with a dot for each value and marks at median and 95th percentile. */

/** Heights of a setting, its label above its line, and the axis, px. */
const ROW_PX = 50;
const LINE_PX = 34;
const AXIS_PX = 26;
/** Space beside the lines for half of a dot or of a number, and room for "12 not by the end", px. */
const SIDE_PX = 14;
const NEVER_PX = 120;

/**
 * @param {Document} document
 * @param {Results} results
 * @param {number} width px
 * @returns {SVGElement}
 */
export function experimentChart(document, results, width) {
  const measure = mainMeasure(results);
  const { most, ticks } = axisOf(results);
  const right = results.points.some((point) => point.never) ? NEVER_PX : SIDE_PX;
  const along = (value) => SIDE_PX + (value / most) * (width - SIDE_PX - right);
  const height = results.points.length * ROW_PX + AXIS_PX;
  const svg = svgNode(document, "svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${measure.title} of each run, by setting; the table below has the figures` });
  const bottom = height - AXIS_PX;
  for (const tick of ticks) {
    svg.append(svgNode(document, "line", { class: "grid", x1: along(tick), x2: along(tick), y1: 18, y2: bottom }));
    const last = right === SIDE_PX && tick > 0.9 * most; // "12 000 ms" is wider than the space beside the lines
    svg.append(svgNode(document, "text", { class: "tick", x: last ? along(tick) + SIDE_PX : along(tick), y: bottom + 16, "text-anchor": last ? "end" : "middle" }, valueWords(measure.unit, tick)));
  }
  if (results.at_most !== null) {
    svg.append(svgNode(document, "line", { class: "bound", x1: along(results.at_most), x2: along(results.at_most), y1: 4, y2: bottom }));
  }
  results.points.forEach((point, at) => drawPoint(document, svg, results, point, { top: at * ROW_PX, along, width }));
  return svg;
}

function drawPoint(document, svg, results, point, { top, along, width }) {
  const measure = mainMeasure(results);
  const line = top + LINE_PX;
  svg.append(svgNode(document, "line", { class: "base", x1: along(0), x2: width - SIDE_PX, y1: line, y2: line }));
  svg.append(svgNode(document, "text", { class: "label", x: along(0), y: top + 14 }, pointLabel(results, point)));
  for (const [value, runs] of point.dots) {
    const dot = svgNode(document, "circle", { class: "run", cx: along(value), cy: line, r: radiusOf(runs) });
    dot.append(svgNode(document, "title", {}, `${valueWords(measure.unit, value)}: ${runs} ${runs === 1 ? "run" : "runs"}`));
    svg.append(dot);
  }
  const { median, p95 } = point.figures[measure.name];
  for (const [name, value, reach] of [["p95", p95, 9], ["median", median, 13]]) {
    if (value !== null) svg.append(svgNode(document, "line", { class: String(name), x1: along(value), x2: along(value), y1: line - Number(reach), y2: line + Number(reach) }));
  }
  if (point.never) svg.append(svgNode(document, "text", { class: "tick", x: width - 4, y: line - 6, "text-anchor": "end" }, `${point.never} ${NOT_BY_THE_END}`));
}

/**
 * @param {{document: Document, root: HTMLElement, window: import("../render/dom.js").PageWindow, address: string}} parts
 */
export function makeResults({ document, root, window, address }) {
  const chart = required(root, "[data-part=chart]");
  /** @type {any} */
  let results = {};

  function draw() {
    const width = chart.clientWidth;
    if (results.runs && width) chart.replaceChildren(experimentChart(document, results, width));
  }

  new window.ResizeObserver(draw).observe(chart);
  return {
    runs: () => results.runs ?? "",
    show(next) {
      if (next.runs === results.runs) return;
      results = next;
      required(root, "[data-part=results]").hidden = !results.runs;
      if (!results.runs) return;
      setText(required(root, "[data-part=results-title]"), headline(results));
      setText(required(root, "[data-part=legend]"), legendOf(results));
      fillTable(document, required(root, "table[data-part=table]"), results, address);
      failedRuns(document, required(root, "[data-part=failed]"), results, address);
      draw();
    },
  };
}

/** @param {Results} results @returns {string} what the chart shows */
function legendOf(results) {
  const { title, unit } = mainMeasure(results);
  const axes = results.axes.length ? ` by ${results.axes.join(" and ")}` : "";
  const bound = results.at_most === null ? "" : ` The dashed line is the wanted bound, ${valueWords(unit, results.at_most)}.`;
  return `${capitalised(title)}${axes}. A dot is a run, a larger one several runs with the same value; the long mark is the median, the short one the 95th percentile.${bound}${intervalNote(results)}${openNote(results)}`;
}

/**
 * @param {Document} document
 * @param {HTMLTableElement} table
 * @param {Results} results
 * @param {string} address of the experiment
 */
function fillTable(document, table, results, address) {
  const measure = mainMeasure(results);
  const others = otherMeasures(results);
  const bound = results.at_most === null ? [] : [`at most ${valueWords(measure.unit, results.at_most)}`];
  const heads = [results.axes.length ? "setting" : "", "runs", medianHead(measure), "95th percentile", "largest", ...bound, "open at the failover", ...others.map(medianHead)];
  const cell = (text) => element(document, "td", { text });

  const rowOf = (point) => {
    const words = (one, kind) => (point.finished ? valueWords(one.unit, point.figures[one.name][kind]) : "");
    const within = point.within === null || !point.finished ? "" : `${Math.floor((1000 * point.within) / point.finished) / 10} %`;
    return element(document, "tr", {}, [
      headCell(document, "row", { name: pointLabel(results, point) }),
      cell(`${point.finished}${point.failed ? `, ${point.failed} failed` : ""}`),
      ...["median", "p95", "largest"].map((kind) => cell(words(measure, kind))),
      ...(bound.length ? [cell(within)] : []),
      element(document, "td.open", {}, point.finished ? [opener(document, address, point.median_run, "Median run", pointLabel(results, point)), opener(document, address, point.worst_run, "Worst run", pointLabel(results, point))] : []),
      ...others.map((one) => cell(words(one, "median"))),
    ]);
  };
  table.replaceChildren(
    element(document, "thead", {}, [element(document, "tr", {}, columnHeads(document, heads))]),
    element(document, "tbody", {}, results.points.map(rowOf)),
  );
}

/** @param {Measure} measure @returns {[text: string, label: string]} */
const medianHead = ({ title }) => [`${title}: median`, title];

/** A button that makes a lab of a run and opens it in a new tab. */
function opener(document, address, run, words, label) {
  const button = element(document, "button", { type: "submit", text: words, "aria-label": `${words} with ${label}: open as a lab at the failover` });
  return element(document, "form", { method: "post", action: `${address}runs/${run}/`, target: "_blank" }, [button]);
}

/**
 * Lists failed runs with their reasons.
 * @param {Document} document
 * @param {HTMLElement} list
 * @param {Results} results
 * @param {string} address of the experiment
 */
function failedRuns(document, list, results, address) {
  list.replaceChildren(
    ...results.failed.map((one) =>
      element(document, "li", {}, [
        element(document, "span.harm-text", { text: `Run ${one.run} failed` }),
        ` (${pointLabel(results, results.points[one.point])}, seed ${one.seed}): ${one.reason} `,
        opener(document, address, one.run, "Open it", `run ${one.run}`),
      ]),
    ),
  );
}

/** An experiment's page: its progress, and its results as they arrive. */

/** @param {{document: Document, root: HTMLElement, window: import("../render/dom.js").PageWindow, fetcher: typeof fetch}} parts */
export function openExperiment(parts) {
  const { document, root, window } = parts;
  const results = makeResults({ document, root, window, address: root.dataset.address });
  openTask(parts, {
    noun: "experiment",
    question: "Delete this experiment with its results? Labs that were made from its runs are kept.",
    query: () => `?have=${results.runs()}`,
    onStatus(status) {
      required(root, "progress[data-part=bar]").value = status.finished;
      required(root, "[data-part=report]").hidden = !status.files;
      for (const one of allOf(root, "[data-part=download]")) one.hidden = !status.files;
      if (status.results) results.show(status.results);
    },
  });
}

const root = globalThis.document && found(document, "[data-experiment]"); // Node\'s tests have no document
if (root) openExperiment({ document, root, window, fetcher: (address, options) => fetch(address, options) });
