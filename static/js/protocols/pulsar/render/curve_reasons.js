/** Draws the reasons on the curve of duplicates: few labels, each with a line to its instant, none over another. */

import { drawLabels, makeMeasure, placeLabels } from "../../../render/labels.js";
import { markAs } from "../../../render/marks.js";

/** Most labels on one curve. */
const MOST = 4;

/**
 * Where the labels stand: those of drops right of the drop, the others above the curve. A label without room beside the curve is left out.
 * @param {import("../model/curve_reasons.js").Reason[]} reasons in order of importance
 * @param {object} given xAt, yAt (of a value), x0, x1, top and bottom of the plot, line (height of a label), measure, curve (boxes of the curve)
 * @returns {{x: number, y: number, width: number, height: number, label: any}[]}
 */
export function placeReasons(reasons, { xAt, yAt, x0, x1, top, bottom, line, measure, curve, taken }) {
  const shown = reasons.filter(({ at_us }) => xAt(at_us) >= x0 && xAt(at_us) <= x1);
  const requests = shown.map((reason) => {
    const x = xAt(reason.at_us);
    const heights = reason.kind === "applied" ? [(yAt(reason.from) + yAt(reason.to)) / 2 - line / 2, yAt(reason.to) - line - 2, top] : [top, top + line];
    const forms = formsOf(reason).map((runs) => {
      const width = measure(runs);
      const places = heights.flatMap((y) => [x + 5, x - width - 5].map((left) => ({ x: left, y: Math.min(bottom - line, Math.max(top, y)) }))).filter((place) => place.x >= x0 && place.x + width <= x1);
      return { width, label: Object.assign(runs, { reason }), places };
    });
    return { priority: reason.kind === "applied" ? 1 : 0, height: line, forms };
  });
  return placeLabels(requests, { width: x1, height: bottom }, [...taken, ...curve], 2).slice(0, MOST);
}

/**
 * A reason as runs, long and short: a low plot has room for the short one only.
 * @param {import("../model/curve_reasons.js").Reason} reason
 */
function formsOf({ strong, text, short }) {
  const runs = (name, rest) => [{ text: name, weight: 650, colour: "harm" }, { text: rest, weight: 400, colour: "harm" }];
  return short === undefined ? [runs(strong, text)] : [runs(strong, text), runs(short, "")];
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
