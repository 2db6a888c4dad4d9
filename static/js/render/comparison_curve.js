/**
 * Draws one strategy's figure over the whole run, with the instant shown, the move and faults.
 * The figure is the forecast number of duplicates before the move, and their actual number after it.
 */

import { figureOf, figuresAt } from "../model/comparison.js";
import { kindOf } from "../model/marks.js";
import { prepared } from "./canvas.js";
import { fontOf } from "./theme.js";

const EDGE = 2;
const HEIGHT_PX = 64;
const TOP_PX = 14;

/**
 * @param {{theme: import("./theme.js").Theme, width: number, ratio: number, at_us: number, end_us: number, highest: number}} given
 *   highest: the scale's end, the same in every column. Values after the instant are not drawn, so that the outcome stays hidden.
 */
export function paintCurve(canvas, column, given) {
  const { theme, width, ratio, at_us, end_us, highest } = given;
  const height = HEIGHT_PX * theme.scale;
  const context = prepared(canvas, width, height, ratio);
  const base = height - 4 * theme.scale;
  const xAt = (us) => EDGE + (us / Math.max(1, end_us)) * (width - 2 * EDGE);
  const yAt = (figure) => base - (figure / highest) * (base - TOP_PX * theme.scale);
  context.fillStyle = theme.ink.line;
  context.fillRect(EDGE, base, width - 2 * EDGE, 1);
  paintFaults(context, theme, column.followed, at_us, { xAt, base });
  const move_us = column.followed.at_us;
  stroke(context, theme.ink.harm, theme.thread, column, { from_us: 0, to_us: Math.min(at_us, move_us - 1), xAt, yAt });
  if (at_us >= move_us) {
    stroke(context, theme.ink.harm, theme.thread * 1.6, column, { from_us: move_us, to_us: at_us, xAt, yAt });
    const x = xAt(move_us);
    context.fillStyle = theme.ink.ink;
    context.fillRect(x - 0.5, 2, 1, base - 2);
    context.font = fontOf(theme);
    context.textBaseline = "top";
    context.textAlign = x > width / 2 ? "right" : "left";
    context.fillText("move", x + (x > width / 2 ? -4 : 4), 1);
  }
  context.fillStyle = theme.ink.ink;
  context.beginPath();
  context.arc(xAt(at_us), yAt(figureOf(figuresAt(column, at_us))), 3 * theme.scale, 0, 7);
  context.fill();
}

/** A step curve with one value per pixel. */
function stroke(context, colour, thickness, column, { from_us, to_us, xAt, yAt }) {
  if (to_us < from_us) return;
  const first = xAt(from_us);
  const last = xAt(to_us);
  const per_px = (to_us - from_us) / Math.max(1, last - first);
  context.strokeStyle = colour;
  context.lineWidth = thickness;
  context.beginPath();
  for (let x = first; ; x = Math.min(last, x + 1)) {
    const y = yAt(figureOf(figuresAt(column, from_us + (x - first) * per_px)));
    if (x === first) context.moveTo(x, y);
    else context.lineTo(x, y);
    if (x >= last) break;
  }
  context.stroke();
}

function paintFaults(context, theme, followed, at_us, { xAt, base }) {
  context.lineWidth = 1.4;
  for (const fault of followed.faults) {
    if (fault.at_us > at_us) continue;
    const heals = kindOf(fault.type) === "healing";
    context.strokeStyle = heals ? theme.ink.ink3 : theme.ink.harm;
    context.setLineDash([2, 2]);
    context.beginPath();
    context.moveTo(xAt(fault.at_us), TOP_PX);
    context.lineTo(xAt(fault.at_us), base);
    context.stroke();
  }
  context.setLineDash([]);
}
