/** Draws the reasons on the curve of duplicates: few labels, each with a line to its instant, none over another. */

import { placeLabels } from "../../../layout/labels.js";
import { makeMeasure, drawLabels } from "../../../render/labels.js";
import { markAs } from "../../../render/marks.js";

/** Most labels on one curve. */
const MOST = 4;

/**
 * Where the labels stand: those of drops right of the drop, the others above the curve.
 * @param {import("../model/curve_reasons.js").Reason[]} reasons in order of importance
 * @param {object} given xAt, yAt (of a value), x0, x1, top and bottom of the plot, line (height of a label), measure, curve (boxes of the curve)
 * @returns {{x: number, y: number, width: number, height: number, label: any}[]}
 */
export function placeReasons(reasons, { xAt, yAt, x0, x1, top, bottom, line, measure, curve, taken }) {
  const shown = reasons.filter(({ at_us }) => xAt(at_us) >= x0 && xAt(at_us) <= x1);
  const requests = shown.map((reason) => {
    const runs = [{ text: reason.strong, weight: 650, colour: "harm" }, { text: reason.text, weight: 400, colour: "harm" }];
    const width = measure(runs);
    const x = xAt(reason.at_us);
    const heights = reason.kind === "applied" ? [(yAt(reason.from) + yAt(reason.to)) / 2 - line / 2, yAt(reason.to) - line - 2, top] : [top, top + line];
    const places = heights.flatMap((y) => [x + 5, x - width - 5].map((left) => ({ x: left, y: Math.min(bottom - line, Math.max(top, y)) }))).filter((place) => place.x >= x0 && place.x + width <= x1);
    return { priority: reason.kind === "applied" ? 1 : 0, height: line, forms: [{ width, label: Object.assign(runs, { reason }), places }] };
  });
  const bounds = { width: x1, height: bottom };
  return placeLabels(requests, bounds, taken, 6, curve).slice(0, MOST);
}

/** @param {any} given as in `placeReasons`, with the theme's measure left out */
export function paintReasons(context, theme, reasons, given) {
  if (reasons.length === 0) return;
  const measure = makeMeasure(context, theme);
  const placed = placeReasons(reasons, { ...given, line: Math.round(theme.label * 1.25), measure });
  markAs(context, "time-reason");
  context.fillStyle = theme.ink.harm;
  for (const { y, height, label } of placed) {
    const { reason } = label;
    const foot = given.yAt(reason.to);
    if (reason.kind !== "applied") context.fillRect(given.xAt(reason.at_us) - 0.5, y, 1, Math.max(height, foot - y));
  }
  drawLabels(context, placed, theme, measure);
}
