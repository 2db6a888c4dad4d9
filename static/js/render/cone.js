/** The lit causal cone in the space-time diagram: each cause joined to what it brought, whether a marker, a message or a cursor. */

import { arrowHead } from "./passages.js";

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import("../model/lit.js").Lit} lit
 * @param {object} given xAt, yAt, lanes, now_us
 */
export function paintCone(context, lit, theme, { xAt, yAt, lanes, now_us }) {
  const dots = new Set();
  context.strokeStyle = context.fillStyle = theme.ink.ink;
  for (const { from, to, back } of lit.edges) {
    if (from.at_us > now_us || to.at_us > now_us || !lanes.includes(from.cluster) || !lanes.includes(to.cluster)) continue;
    const a = { x: xAt(from.at_us), y: yAt(from.cluster) };
    const b = { x: xAt(to.at_us), y: yAt(to.cluster) };
    context.lineWidth = (back ? 2 : 1.3) * theme.scale;
    context.beginPath();
    context.moveTo(a.x, a.y);
    context.lineTo(b.x, b.y);
    context.stroke();
    if (a.y !== b.y) arrowHead(context, theme, a, b);
    dots.add(`${b.x}|${b.y}`);
  }
  for (const dot of dots) {
    const [x, y] = dot.split("|").map(Number);
    context.beginPath();
    context.arc(x, y, 2 * theme.scale, 0, 7);
    context.fill();
  }
  const { row } = lit;
  if (!row.cluster || row.at_us > now_us || !lanes.includes(row.cluster)) return;
  context.lineWidth = 1.6 * theme.scale;
  context.beginPath();
  context.arc(xAt(row.at_us), yAt(row.cluster), 7.5 * theme.scale, 0, 7);
  context.stroke();
}
