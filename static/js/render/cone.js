/** Draws the highlighted causal cone in the space-time diagram: a line from each cause to its effect. */

import { markAs } from "./marks.js";

/** Draws arrow heads, for messages between lines. */

/** Arrows shorter than this have no head, px. */
const HEADED_PX = 9;

/** Draws the head just before the line that it reaches, so that the glyph there does not cover it. */
export function arrowHead(context, theme, from, to) {
  const length = Math.hypot(to.x - from.x, to.y - from.y);
  if (length < HEADED_PX) return;
  const [dx, dy] = [(to.x - from.x) / length, (to.y - from.y) / length];
  const arm = 4 * theme.scale;
  const tip = { x: to.x - dx * 3.2 * theme.scale, y: to.y - dy * 3.2 * theme.scale };
  context.beginPath();
  context.moveTo(tip.x, tip.y);
  context.lineTo(tip.x - dx * arm - dy * arm * 0.55, tip.y - dy * arm + dx * arm * 0.55);
  context.lineTo(tip.x - dx * arm + dy * arm * 0.55, tip.y - dy * arm - dx * arm * 0.55);
  context.closePath();
  context.fill();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import("../pages/lights.js").Lit} lit
 * @param {(row: object) => {x: number, y: number, lane: string} | null} place position of a row, null when it is not shown
 */
export function paintCone(context, lit, theme, place) {
  const dots = new Set();
  markAs(context, "time-cone");
  context.strokeStyle = context.fillStyle = theme.ink.ink;
  for (const { from, to, back } of lit.edges) {
    const a = place(from);
    const b = place(to);
    if (a === null || b === null) continue;
    context.lineWidth = (back ? 2 : 1.3) * theme.scale;
    context.beginPath();
    context.moveTo(a.x, a.y);
    context.lineTo(b.x, b.y);
    context.stroke();
    if (a.lane !== b.lane) arrowHead(context, theme, a, b);
    dots.add(`${b.x}|${b.y}`);
  }
  for (const dot of dots) {
    const [x, y] = dot.split("|").map(Number);
    context.beginPath();
    context.arc(x, y, 2 * theme.scale, 0, 7);
    context.fill();
  }
  const at = place(lit.row);
  if (at === null) return;
  context.lineWidth = 1.6 * theme.scale;
  context.beginPath();
  context.arc(at.x, at.y, 7.5 * theme.scale, 0, 7);
  context.stroke();
}
