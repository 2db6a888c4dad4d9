/**
 * The time slider: the whole run with the risk curve, dots for snapshots, bars for duplicates, and marks for commands and faults.
 * The part of the run that was not simulated yet is marked. Dragging and arrow keys seek.
 */

import { curveOf } from "../model/forecast.js";
import { seconds } from "../model/format.js";
import { snapshotEnd } from "../model/landmarks.js";
import { prepared } from "./canvas.js";
import { glyph } from "./glyphs.js";
import { fontOf } from "./theme.js";

/**
 * @param {HTMLCanvasElement} canvas
 * @param {object} given width, ratio, end_us (right edge), furthest_us, now_us, marks, landmarks, points (of the risk curve), bursts (of duplicates)
 */
export function paintScrub(canvas, watched, theme, given) {
  const { width, ratio, end_us, furthest_us, now_us, marks } = given;
  const height = 34 * theme.scale;
  const context = prepared(canvas, width, height, ratio);
  const xAt = (us) => Math.min(1, us / Math.max(1, end_us)) * (width - 12) + 6;
  const base = height - 6 * theme.scale;
  context.fillStyle = theme.ink.line;
  context.fillRect(6, base - 0.5, width - 12, 1.5);
  paintCurve(context, watched, theme, { xAt, base, height, points: given.points });
  context.fillStyle = theme.ink.ink;
  context.fillRect(6, base - theme.rail / 2, xAt(Math.min(furthest_us, end_us)) - 6, theme.rail);
  paintSnapshots(context, theme, given.landmarks, watched, { xAt, base });
  paintBursts(context, theme, given.bursts, { xAt, base, now_us });
  paintMarks(context, theme, marks, { xAt, base, width });
  const last = marks.findLast((mark) => mark.at_us <= end_us);
  if (furthest_us < end_us * 0.9 && width > 600 && !(last && xAt(last.at_us) > width - 200 * theme.scale)) {
    context.font = fontOf(theme);
    context.fillStyle = theme.ink.ink3;
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillText("not run yet", width - 6, base - 10 * theme.scale);
  }
  context.fillStyle = theme.ink.ink;
  context.strokeStyle = theme.ink.bg;
  context.lineWidth = 2;
  context.beginPath();
  context.arc(xAt(now_us), base, 5.5 * theme.scale, 0, 7);
  context.fill();
  context.stroke();
}

function paintCurve(context, watched, theme, { xAt, base, height, points }) {
  if (!watched?.curve?.peer) return;
  const { x, y } = curveOf(points, watched.curve.name, watched.curve.peer);
  if (x.length < 2) return;
  const top = Math.max(4, ...y);
  context.strokeStyle = theme.ink.harmSoft;
  context.lineWidth = 1;
  context.beginPath();
  for (let at = 0; at < x.length; at++) {
    const px = xAt(x[at] * 1e6);
    const py = base - 4 - (y[at] / top) * (height - 18);
    if (at === 0) context.moveTo(px, py);
    else context.lineTo(px, py);
  }
  context.stroke();
}

/** Draws a light dot for each snapshot that the subject completed and a small cross for a failed one; dots that would overlap are left out. */
function paintSnapshots(context, theme, landmarks, watched, { xAt, base }) {
  let free = -Infinity;
  for (const row of landmarks) {
    const end = snapshotEnd(row);
    if (row.cluster !== watched?.subject || row.topic !== watched.topic || end === null) continue;
    const x = xAt(row.at_us);
    const failed = end === "failed";
    if (x < free && !failed) continue;
    free = x + 5 * theme.scale;
    if (failed) glyph(context, "cross", x, base + 4 * theme.scale, 2.2 * theme.scale, theme.ink.harm, theme.ink.bg);
    else {
      context.fillStyle = theme.ink.bg;
      context.beginPath();
      context.arc(x, base, 1.4 * theme.scale, 0, 7);
      context.fill();
    }
  }
}

/** Draws duplicates as bars on the line, higher for more of them; pale where they are after the instant shown. */
function paintBursts(context, theme, bursts, { xAt, base, now_us }) {
  for (const { from_us, until_us, count } of bursts) {
    const height = Math.min(11, 4 + 2 * Math.log10(count)) * theme.scale;
    context.fillStyle = from_us <= now_us ? theme.ink.harm : theme.ink.harmSoft;
    context.fillRect(xAt(from_us) - theme.scale, base - height, xAt(until_us) - xAt(from_us) + 2 * theme.scale, height);
  }
}

/** Draws a fault as a dotted stroke, a failover as a pennant, a repair as a short stroke, with labels where they fit. */
function paintMarks(context, theme, marks, { xAt, base, width }) {
  context.font = fontOf(theme, theme.label, 600);
  context.textAlign = "left";
  context.textBaseline = "middle";
  let free = 0;
  for (const mark of marks) {
    const x = xAt(mark.at_us);
    const top = base - (mark.kind === "healing" ? 9 : 20) * theme.scale;
    context.strokeStyle = context.fillStyle = mark.kind === "healing" ? theme.ink.ink2 : mark.done ? theme.ink.harm : theme.ink.harmSoft;
    context.lineWidth = 1.6;
    context.setLineDash(mark.kind === "fault" ? [2, 2] : []);
    context.beginPath();
    context.moveTo(x, top);
    context.lineTo(x, base - 2);
    context.stroke();
    context.setLineDash([]);
    if (mark.kind === "failover") {
      context.beginPath();
      context.moveTo(x, top);
      context.lineTo(x + 7 * theme.scale, top + 3.5 * theme.scale);
      context.lineTo(x, top + 7 * theme.scale);
      context.fill();
    }
    const wide = context.measureText(mark.text).width;
    const left = x + 11 * theme.scale; // a fault and a failover often share an instant: the label keeps clear of the pennant
    if (left < free || left + wide + 8 > width) continue;
    context.fillStyle = mark.kind === "healing" ? theme.ink.ink2 : theme.ink.harm;
    context.fillText(mark.text, left, base - 17 * theme.scale);
    free = left + wide + 10;
  }
}

/**
 * @param {HTMLElement} slider contains the canvas, has role slider
 * @param {{endUs: () => number, nowUs: () => number, onSeek: (at_us: number) => void, onNext?: () => void, onPrevious?: () => void}} on
 */
export function listenToScrub(slider, on) {
  let last_sent_ms = 0;
  const at = (event) => {
    const box = slider.getBoundingClientRect();
    return Math.max(0, Math.min(1, (event.clientX - box.left - 6) / (box.width - 12))) * on.endUs();
  };
  slider.addEventListener("pointerdown", (event) => {
    slider.setPointerCapture(event.pointerId);
    on.onSeek(at(event));
  });
  slider.addEventListener("pointermove", (event) => {
    if (!slider.hasPointerCapture(event.pointerId) || event.timeStamp - last_sent_ms < 80) return;
    last_sent_ms = event.timeStamp;
    on.onSeek(at(event));
  });
  slider.addEventListener("pointerup", (event) => {
    if (slider.hasPointerCapture(event.pointerId)) on.onSeek(at(event));
  });
  slider.addEventListener("keydown", (event) => {
    const step_us = event.shiftKey ? 1_000_000 : 100_000;
    const to = { ArrowRight: on.nowUs() + step_us, ArrowLeft: on.nowUs() - step_us, Home: 0, End: on.endUs(), PageUp: on.nowUs() + 1e6, PageDown: on.nowUs() - 1e6 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    on.onSeek(Math.max(0, to));
  });
}

/** @returns {string} for aria-valuetext */
export const scrubWords = (now_us) => `${seconds(now_us)} seconds`;
