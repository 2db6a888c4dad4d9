/**
 * The space-time diagram: one world line per cluster, markers as slanted strokes between them, on the time axis that the
 * risk curve below shares. Messages are not drawn here. The now line runs through both.
 */

import { markerCluster } from "../model/marker_owner.js";
import { ticksOf } from "../layout/time_axis.js";
import { prepared } from "./canvas.js";
import { glyph } from "./glyphs.js";
import { fontOf } from "./theme.js";

export const LINE_PITCH_PX = 31;
export const HEAD_PX = 34;

/** @returns {number} height of the diagram without the curve, px */
export const spacetimeHeight = (lanes, scale) => (HEAD_PX + (lanes - 1) * LINE_PITCH_PX + 22) * scale;

/**
 * @param {HTMLCanvasElement} canvas covers diagram and curve
 * @param {object} given x0, x1, height (of both), lanes (cluster names), window (time), now_us, furthest_us, marks
 * @returns {{kind: "marker", number: number, x: number, y: number}[]} places that can be clicked
 */
export function paintSpacetime(canvas, state, watched, theme, given) {
  const { width, height, x0, x1, lanes, window, now_us, ratio } = given;
  const context = prepared(canvas, width, height, ratio);
  const xAt = (us) => x0 + ((us - window.start_us) / window.span_us) * (x1 - x0);
  const yAt = (cluster) => (HEAD_PX + lanes.indexOf(cluster) * LINE_PITCH_PX) * theme.scale;
  const below = spacetimeHeight(lanes.length, theme.scale);
  context.textBaseline = "middle";
  paintGrid(context, theme, { window, xAt, x0, x1, height, below, lanes, yAt });
  paintFuture(context, theme, xAt(given.furthest_us), x1, HEAD_PX * theme.scale - 12, height - 24);
  paintWorldLines(context, state, watched, theme, { lanes, xAt, yAt, x0, x1, now_us });
  context.save();
  context.beginPath();
  context.rect(x0 - 6, 0, x1 - x0 + 12, height);
  context.clip();
  const places = paintMarkers(context, state, watched, theme, { xAt, yAt, x0, x1, lanes, now_us });
  paintSpans(context, state, watched, theme, { xAt, x0, x1, now_us });
  context.restore();
  paintMarks(context, theme, given.marks, { xAt, x0, x1, height, below });
  paintNow(context, theme, xAt(now_us), height, x0, x1);
  return places;
}

function paintGrid(context, theme, { window, xAt, x0, x1, height, lanes, yAt }) {
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

function paintFuture(context, theme, from, x1, top, bottom) {
  if (from >= x1) return;
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

function paintWorldLines(context, state, watched, theme, { lanes, xAt, yAt, x0, x1, now_us }) {
  for (const cluster of lanes) {
    const down = state.view?.clusters[cluster]?.state !== "up";
    context.strokeStyle = down ? theme.ink.harm : theme.ink.strong;
    context.setLineDash(down ? [2, 4] : []);
    context.lineWidth = cluster === watched.subject ? 1.6 : 1;
    context.beginPath();
    context.moveTo(x0, yAt(cluster));
    context.lineTo(Math.min(x1, Math.max(x0, xAt(now_us))), yAt(cluster));
    context.stroke();
    context.setLineDash([]);
  }
}

function paintMarkers(context, state, watched, theme, { xAt, yAt, x0, x1, lanes, now_us }) {
  const places = [];
  const glyphs = [];
  for (const marker of state.markers.values()) {
    if (marker.topic !== watched.topic || !lanes.includes(marker.cluster) || marker.written_us > now_us) continue;
    const ours = markerCluster(state, marker) === watched.subject;
    const x = xAt(marker.written_us);
    const y = yAt(marker.cluster);
    context.strokeStyle = ours ? theme.ink.proto : theme.ink.strong;
    context.globalAlpha = ours ? 1 : 0.42;
    context.lineWidth = ours ? 1.2 : 1;
    for (const hop of marker.hops) paintHop(context, theme, hop, { x, y, xAt, yAt, lanes, now_us, written_us: marker.written_us });
    context.globalAlpha = 1;
    if (!ours || x > x1 + 8) continue;
    if (x >= x0) glyphs.push({ marker, x, y });
    for (const hop of marker.hops) {
      if (hop.stored_us !== null && hop.stored_us <= now_us && lanes.includes(hop.to) && xAt(hop.stored_us) >= x0 && xAt(hop.stored_us) <= x1) {
        glyphs.push({ marker, x: xAt(hop.stored_us), y: yAt(hop.to), arrived: true });
      }
    }
  }
  for (const { marker, x, y, arrived } of glyphs) {
    if (x > x1) continue;
    glyph(context, marker.kind, x, y, (arrived ? 3.1 : 4.2) * theme.scale, theme.ink.proto, theme.ink.bg);
    places.push({ kind: "marker", number: marker.number, x, y });
  }
  return places;
}

function paintHop(context, theme, hop, { x, y, xAt, yAt, lanes, now_us, written_us }) {
  if (!lanes.includes(hop.to)) return;
  const begin_us = hop.sent_us ?? written_us;
  const x_begin = hop.sent_us === null ? x : xAt(begin_us);
  const end_us = hop.stored_us ?? hop.lost_us ?? now_us;
  const shown_us = Math.min(end_us, now_us);
  const y_end = yAt(hop.to);
  // a marker still on the wire is drawn as far as it has come: half way is honest when its arrival is not known
  const share = hop.stored_us !== null && hop.stored_us <= now_us ? 1 : hop.stored_us !== null ? (now_us - begin_us) / Math.max(1, hop.stored_us - begin_us) : 0.5;
  context.beginPath();
  context.moveTo(x_begin, y);
  context.lineTo(xAt(shown_us), y + (y_end - y) * share);
  context.stroke();
  if (hop.lost_us !== null && hop.lost_us <= now_us) glyph(context, "cross", xAt(hop.lost_us), y + (y_end - y) * 0.5, 3.4 * theme.scale, theme.ink.harm, theme.ink.bg);
}

/** A bracket over each of the subject's snapshots: from the first question to the last answer. */
function paintSpans(context, state, watched, theme, { xAt, x0, x1, now_us }) {
  const y = 14 * theme.scale;
  for (const snapshot of state.snapshots.values()) {
    if (snapshot.cluster !== watched.subject || snapshot.topic !== watched.topic || snapshot.asked_us === null || snapshot.asked_us > now_us) continue;
    const from = Math.max(x0, xAt(snapshot.asked_us));
    const pending = snapshot.ended_us === null || snapshot.ended_us > now_us;
    const to = Math.min(x1, xAt(pending ? now_us : snapshot.ended_us));
    if (to < x0 || from > x1) continue;
    const failed = snapshot.state === "timed-out" || snapshot.state === "abandoned";
    context.strokeStyle = failed ? theme.ink.harm : theme.ink.proto;
    context.lineWidth = 1.2;
    context.setLineDash(pending ? [2, 2] : []);
    context.beginPath();
    context.moveTo(from, y + 5);
    context.lineTo(from, y);
    context.lineTo(to, y);
    if (!pending) context.lineTo(to, y + 5);
    context.stroke();
    context.setLineDash([]);
    const text = `S${snapshot.number}`;
    context.font = fontOf(theme, theme.label, 650);
    context.textAlign = "left";
    if (to - from > context.measureText(text).width - 8) {
      context.fillStyle = failed ? theme.ink.harm : theme.ink.proto;
      context.fillText(text, from, y - 8 * theme.scale);
    }
  }
}

/** Faults and commands: dotted crimson through diagram and curve. */
function paintMarks(context, theme, marks, { xAt, x0, x1, height, below }) {
  let free = 0;
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
    if (x < free) continue;
    context.font = fontOf(theme, theme.label, 600);
    context.fillStyle = theme.ink.harm;
    context.textAlign = "left";
    context.fillText(mark.text, x + 4, below - 5 * theme.scale);
    free = x + context.measureText(mark.text).width + 12;
  }
}

function paintNow(context, theme, x, height, x0, x1) {
  if (x < x0 || x > x1 + 1) return;
  context.fillStyle = theme.ink.ink;
  context.fillRect(x - 0.6, 10, 1.3, height - 30);
}
