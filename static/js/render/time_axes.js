/** What the time diagrams of all protocols share: grid with lanes, the part that was not run yet, faults, and the now line. */

import { ticksOf } from "../layout/time_axis.js";
import { markAs } from "./marks.js";
import { fontOf } from "./theme.js";

export const LINE_PITCH_PX = 31;
export const HEAD_PX = 34;

/** @returns {number} height of the diagram without the curve, px */
export const spacetimeHeight = (lanes, scale) => (HEAD_PX + (lanes - 1) * LINE_PITCH_PX + 22) * scale;

export function paintGrid(context, theme, { window, xAt, x0, x1, height, lanes, yAt }) {
  markAs(context, "axis");
  context.font = fontOf(theme);
  context.textAlign = "center";
  for (const tick of ticksOf(window.start_us, window.span_us, (x1 - x0) / (90 * theme.scale))) {
    const x = xAt(tick.at_us);
    context.fillStyle = theme.ink.line;
    context.fillRect(x, HEAD_PX * theme.scale - 12, 1, height - HEAD_PX * theme.scale - 10);
    context.fillStyle = theme.ink.ink2;
    context.fillText(tick.text, Math.min(Math.max(x, x0 + 14), x1 - 10), height - 9 * theme.scale);
  }
  context.textAlign = "left";
  const narrow = x0 < 80;
  for (const cluster of lanes) {
    context.fillStyle = theme.ink.ink2;
    context.font = fontOf(theme, theme.label + 0.5);
    context.fillText(cluster, narrow ? 0 : 16 * theme.scale, yAt(cluster), x0 - (narrow ? 4 : 24));
  }
}

export function paintFuture(context, theme, from, x1, top, bottom) {
  if (from >= x1) return;
  markAs(context, "time-future");
  context.save();
  context.beginPath();
  context.rect(Math.max(from, 0), top, x1 - from, bottom - top);
  context.clip();
  context.strokeStyle = theme.ink.line;
  context.lineWidth = 1;
  context.beginPath();
  for (let x = from - (bottom - top); x < x1; x += 7) {
    context.moveTo(x, bottom);
    context.lineTo(x + (bottom - top), top);
  }
  context.stroke();
  context.restore();
}

/** Draws faults and commands as dotted lines in the colour of harm through diagram and curve, with labels where they fit. */
export function paintMarks(context, theme, marks, { xAt, x0, x1, height, below, now_x }) {
  let free = x0;
  markAs(context, "time-fault");
  for (const mark of marks) {
    const x = xAt(mark.at_us);
    if (x < x0 || x > x1) continue;
    context.strokeStyle = theme.ink.harm;
    context.lineWidth = 1.4;
    context.setLineDash([2, 3]);
    context.beginPath();
    context.moveTo(x, HEAD_PX * theme.scale - 12);
    context.lineTo(x, height - 22);
    context.stroke();
    context.setLineDash([]);
    context.font = fontOf(theme, theme.label, 600);
    const wide = context.measureText(mark.text).width;
    const crossed = now_x > x && now_x < x + wide + 8;
    const left = crossed || x + wide + 8 > x1 ? x - wide - 5 : x + 5;
    if (left < free) continue;
    context.textAlign = "left";
    context.lineJoin = "round";
    context.lineWidth = 4;
    context.strokeStyle = theme.ink.bg;
    context.strokeText(mark.text, left, below - 5 * theme.scale);
    context.fillStyle = theme.ink.harm;
    context.fillText(mark.text, left, below - 5 * theme.scale);
    free = left + wide + 10;
  }
}

export function paintNow(context, theme, x, height, x0, x1) {
  if (x < x0 || x > x1 + 1) return;
  markAs(context, "time-now");
  context.fillStyle = theme.ink.ink;
  context.fillRect(x - 0.6, 10, 1.3, height - 30);
}
