/** Draws placed labels: pieces of text in a weight and an ink, with a halo in the background colour over lines. */

import { markAs } from "./marks.js";
import { fontOf } from "./theme.js";

/** @typedef {{text: string, weight: number, colour: string}} Run a piece of a label in one weight and colour (name of a theme ink) */

/** @returns {(runs: {text: string, weight: number}[]) => number} width in px; widths are cached per text and weight */
export function makeMeasure(context, theme) {
  const widths = new Map();
  return (runs) => runs.reduce((sum, run) => sum + widthOf(run), 0);
  function widthOf(run) {
    const key = `${run.weight}|${run.text}`;
    let width = widths.get(key);
    if (width === undefined) {
      if (widths.size > 2000) widths.clear(); // texts with durations change every frame
      context.font = fontOf(theme, theme.label, run.weight);
      width = context.measureText(run.text).width;
      widths.set(key, width);
    }
    return width;
  }
}

/** @param {{x: number, y: number, height: number, label: Run[]}[]} placed */
export function drawLabels(context, placed, theme, measure) {
  markAs(context, "text");
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  for (const { x, y, height, label } of placed) {
    let at = x;
    for (const run of label) {
      context.font = fontOf(theme, theme.label, run.weight);
      context.strokeStyle = theme.ink.bg;
      context.lineWidth = 4;
      context.strokeText(run.text, at, y + height / 2);
      context.fillStyle = theme.ink[run.colour];
      context.fillText(run.text, at, y + height / 2);
      at += measure([run]);
    }
  }
}
