/**
 * Draws the space-time diagram: one line per cluster, and markers as slanted arrows between them.
 * Messages are drawn only as part of a highlighted cone.
 */

import { span } from "../../../model/format.js";
import { paintCone } from "../../../render/cone.js";
import { markAs } from "../../../render/marks.js";
import { shortName } from "../model/snapshot_names.js";
import { paintPassages } from "./passages.js";
import { fontOf } from "../../../render/theme.js";


/**
 * @param {CanvasRenderingContext2D} context clipped to the window
 * @param {any} room see `paintTime`, with passages and lit
 * @returns {{kind: "marker", number: number, x: number, y: number}[]} positions that can be clicked
 */
export function paintSpacetime(context, state, watched, theme, room) {
  const { xAt, yAt, lanes, now_us, passages, lit } = room;
  paintWorldLines(context, state, watched, theme, room);
  const places = paintPassages(context, state, passages, theme, { ...room, watched });
  if (!passages.bins) paintSpans(context, state, passages.snapshots, watched, theme, room);
  markAs(context, null);
  if (lit) paintCone(context, lit, theme, (row) => (row.at_us <= now_us && lanes.includes(row.cluster) ? { x: xAt(row.at_us), y: yAt(row.cluster), lane: row.cluster } : null));
  return places;
}

function paintWorldLines(context, state, watched, theme, { lanes, xAt, yAt, x0, x1, now_us }) {
  markAs(context, "time-region");
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

/** Draws a bracket over each of the subject's snapshots, from the first request to the last response; a notch separates the two rounds. */
function paintSpans(context, state, snapshots, watched, theme, { xAt, x0, x1, now_us, lit }) {
  const y = 14 * theme.scale;
  markAs(context, "time-snapshot");
  let free = -Infinity;
  for (const snapshot of snapshots) {
    if (snapshot.cluster !== watched.subject || snapshot.asked_us > now_us) continue;
    const pending = snapshot.ended_us === null || snapshot.ended_us > now_us;
    const from = Math.max(x0, xAt(snapshot.asked_us));
    const to = Math.min(x1, xAt(pending ? now_us : snapshot.ended_us));
    if (to < x0 || from > x1) continue;
    const failed = !pending && (snapshot.state === "timed-out" || snapshot.state === "abandoned");
    context.strokeStyle = context.fillStyle = failed ? theme.ink.harm : theme.ink.proto;
    context.globalAlpha = lit && !lit.snapshots.has(snapshot.number) ? 0.4 : 1;
    context.lineWidth = 1.2;
    context.setLineDash(pending ? [2, 2] : []);
    context.beginPath();
    context.moveTo(from, y + 5);
    context.lineTo(from, y);
    context.lineTo(to, y);
    if (!pending) context.lineTo(to, y + 5);
    context.stroke();
    context.setLineDash([]);
    const second = snapshot.second_us !== null && snapshot.second_us <= now_us ? xAt(snapshot.second_us) : null;
    if (second !== null && second > x0) context.fillRect(second - 0.6, y - 3, 1.2, 8);
    free = spanWords(context, state, theme, snapshot, { from, to, second, y, free, pending, failed });
    context.globalAlpha = 1;
  }
}

/** Writes "S14 300 ms" over the bracket, and the numbers of the rounds in it where they fit. */
function spanWords(context, state, theme, snapshot, { from, to, second, y, free, pending, failed }) {
  context.textAlign = "left";
  const name = shortName(state, snapshot.number);
  const rest = failed ? ` ${snapshot.state.replace("-", " ")}` : pending ? "" : ` ${span(snapshot.ended_us - snapshot.asked_us)}`;
  context.font = fontOf(theme, theme.label, 650);
  const bold = context.measureText(name).width;
  context.font = fontOf(theme);
  const all = bold + context.measureText(rest).width;
  const long = to - from > bold - 8 || free < from - 24;
  if (from >= free && long) {
    context.font = fontOf(theme, theme.label, 650);
    context.fillText(name, from, y - 8 * theme.scale);
    context.font = fontOf(theme);
    if (from + all < Math.max(to, from + bold) + 60) context.fillText(rest, from + bold, y - 8 * theme.scale);
    free = from + all + 10;
  }
  if (second !== null && second - from > 16 && to - second > 16) {
    context.font = fontOf(theme, theme.label - 1, 600);
    context.textAlign = "center";
    context.fillText("1", (from + second) / 2, y + 6.5 * theme.scale);
    context.fillText("2", (second + to) / 2, y + 6.5 * theme.scale);
  }
  return free;
}
