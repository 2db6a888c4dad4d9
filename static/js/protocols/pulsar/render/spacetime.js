/**
 * Draws the space-time diagram: one line per cluster, and markers as slanted arrows between them.
 * The risk curve below has the same time axis, and the now line runs through both. Messages are drawn only as part of a highlighted cone.
 */

import { span } from "../../../model/format.js";
import { prepared } from "../../../render/canvas.js";
import { paintCone } from "../../../render/cone.js";
import { markAs, paintWithChosen } from "../../../render/marks.js";
import { HEAD_PX, LINE_PITCH_PX, paintFuture, paintGrid, paintMarks, paintNow, spacetimeHeight } from "../../../render/time_axes.js";
import { shortName } from "../model/snapshot_names.js";
import { paintPassages } from "./passages.js";
import { fontOf } from "../../../render/theme.js";
import { paintReasons } from "./curve_reasons.js";


/**
 * @param {HTMLCanvasElement} canvas covers diagram and curve
 * @param {object} given x0, x1, height (of both), lanes (cluster names), window (time), now_us, furthest_us, marks, passages, lit, chosen, reasons (of the curve, with its axis; null without one)
 * @returns {{kind: "marker", number: number, x: number, y: number}[]} positions that can be clicked
 */
export function paintSpacetime(canvas, state, watched, theme, given) {
  const { width, height, ratio, chosen } = given;
  const painted = { width, height, ground: theme.ink.bg, part: "time", chosen };
  return paintWithChosen(prepared(canvas, width, height, ratio), painted, (context) => paintAll(context, state, watched, theme, given));
}

function paintAll(context, state, watched, theme, given) {
  const { height, x0, x1, lanes, window, now_us, passages, lit } = given;
  const xAt = (us) => x0 + ((us - window.start_us) / window.span_us) * (x1 - x0);
  const yAt = (cluster) => (HEAD_PX + lanes.indexOf(cluster) * LINE_PITCH_PX) * theme.scale;
  const below = spacetimeHeight(lanes.length, theme.scale);
  context.textBaseline = "middle";
  paintGrid(context, theme, { window, xAt, x0, x1, height, lanes, yAt });
  paintFuture(context, theme, xAt(given.furthest_us), x1, HEAD_PX * theme.scale - 12, height - 24);
  paintWorldLines(context, state, watched, theme, { lanes, xAt, yAt, x0, x1, now_us });
  context.save();
  context.beginPath();
  context.rect(x0 - 6, 0, x1 - x0 + 12, height);
  context.clip();
  const places = paintPassages(context, state, passages, theme, { xAt, yAt, x0, x1, lanes, now_us, watched, lit });
  if (!passages.bins) paintSpans(context, state, passages.snapshots, watched, theme, { xAt, x0, x1, now_us, lit });
  markAs(context, null);
  if (lit) paintCone(context, lit, theme, (row) => (row.at_us <= now_us && lanes.includes(row.cluster) ? { x: xAt(row.at_us), y: yAt(row.cluster), lane: row.cluster } : null));
  context.restore();
  markAs(context, null);
  paintMarks(context, theme, given.marks, { xAt, x0, x1, height, below, now_x: xAt(now_us) });
  paintNow(context, theme, xAt(now_us), height, x0, x1);
  if (given.reasons) paintReasons(context, theme, given.reasons.reasons, { ...given.reasons, xAt, x0, x1: Math.min(x1, Math.max(x0, xAt(now_us)) - 4), curve: curveBoxes(given.reasons, xAt, x0, x1), taken: [] });
  return places;
}

/** Small boxes along the curve, which labels should not cover. */
function curveBoxes({ steps, yAt }, xAt, x0, x1) {
  const boxes = [];
  for (const { from_us, to_us, value } of steps) {
    const x = Math.max(x0, xAt(from_us));
    const width = Math.min(x1, xAt(to_us)) - x;
    if (width > 0) boxes.push({ x, y: yAt(value) - 1, width, height: 2 });
  }
  return boxes;
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
