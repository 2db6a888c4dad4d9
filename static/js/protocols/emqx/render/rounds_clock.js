/**
 * Draws the clock of a leader's timers: a ring for each timer, with the remaining time as an arc from the top and a hand at its end.
 * A timer that was armed more than once has several hands.
 */

import { prepared } from "../../../render/canvas.js";
import { fontOf } from "../../../render/theme.js";

const TURN = 2 * Math.PI;
const TOP = -Math.PI / 2;
const RING_PX = 17;

/** @param {HTMLCanvasElement} canvas */
export function paintClock(canvas, theme, { timers, count, now_us, size, ratio }) {
  const context = prepared(canvas, size, size, ratio);
  const [middle, k] = [size / 2, theme.scale];
  const outer = middle - 7 * k;
  timers.forEach(({ whole_us, due_us }, place) => {
    const radius = outer - place * RING_PX * k;
    ring(context, middle, radius, 0, 1, theme.ink.line, 5 * k);
    const shares = due_us.map((us) => Math.max(0, Math.min(1, (us - now_us) / whole_us)));
    if (shares.length) ring(context, middle, radius, 0, Math.max(...shares), place === 0 ? theme.ink.proto : theme.ink.soft, 5 * k);
    for (const share of shares) hand(context, middle, radius, share, theme, k);
  });
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = theme.ink.ink;
  context.font = fontOf(theme, 20 * k, 650);
  context.fillText(count === null ? "–" : String(count), middle, middle - 4 * k);
  context.font = fontOf(theme);
  context.fillStyle = theme.ink.ink2;
  context.fillText(count === 1 ? "round" : "rounds", middle, middle + 13 * k);
}

function ring(context, middle, radius, from, to, colour, width) {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  context.arc(middle, middle, radius, TOP + from * TURN, TOP + to * TURN);
  context.stroke();
}

function hand(context, middle, radius, share, theme, k) {
  const [dx, dy] = [Math.cos(TOP + share * TURN), Math.sin(TOP + share * TURN)];
  context.strokeStyle = theme.ink.ink;
  context.lineWidth = 2 * k;
  context.beginPath();
  context.moveTo(middle + dx * (radius - 6 * k), middle + dy * (radius - 6 * k));
  context.lineTo(middle + dx * (radius + 6 * k), middle + dy * (radius + 6 * k));
  context.stroke();
}
