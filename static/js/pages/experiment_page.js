/** The results of an experiment: headline, chart, and a table with the runs to open as labs. */

import { headline, intervalNote, mainMeasure, openNote, otherMeasures, pointLabel, valueWords } from "../model/experiment.js";
import { capitalised } from "../model/format.js";
import { openTask } from "./task_page.js";
import { allOf, element, required, setText } from "../render/dom.js";
import { experimentChart } from "../render/experiment_chart.js";
import { columnHeads, headCell } from "../render/terms.js";

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

/** @param {import("../model/experiment.js").Results} results @returns {string} what the chart shows */
function legendOf(results) {
  const { title, unit } = mainMeasure(results);
  const axes = results.axes.length ? ` by ${results.axes.join(" and ")}` : "";
  const bound = results.at_most === null ? "" : ` The dashed line is the wanted bound, ${valueWords(unit, results.at_most)}.`;
  return `${capitalised(title)}${axes}. A dot is a run, a larger one several runs with the same value; the long mark is the median, the short one the 95th percentile.${bound}${intervalNote(results)}${openNote(results)}`;
}

/**
 * @param {Document} document
 * @param {HTMLTableElement} table
 * @param {import("../model/experiment.js").Results} results
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

/** @param {import("../model/experiment.js").Measure} measure @returns {[text: string, label: string]} */
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
 * @param {import("../model/experiment.js").Results} results
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
