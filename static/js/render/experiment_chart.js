/** Draws the results of an experiment: a line for each setting, with a dot for each value and marks at median and 95th percentile. */

import { NOT_BY_THE_END } from "../model/answer.js";
import { axisOf, mainMeasure, pointLabel, radiusOf, valueWords } from "../model/experiment.js";
import { svgNode } from "./dom.js";

/** Heights of a setting, its label above its line, and the axis, px. */
const ROW_PX = 50;
const LINE_PX = 34;
const AXIS_PX = 26;
/** Space beside the lines for half of a dot or of a number, and room for "12 not by the end", px. */
const SIDE_PX = 14;
const NEVER_PX = 120;

/**
 * @param {Document} document
 * @param {import("../model/experiment.js").Results} results
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
