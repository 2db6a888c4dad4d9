/** Pulsar's part of the time section: the space-time diagram of markers and snapshots, and the reasons of the curve. */

import { curveY, spanOfPeriods } from "../../../render/time_axes.js";
import { whole } from "../../../model/format.js";
import { marksOf } from "../../../model/marks.js";
import { curveReasons, paintReasons } from "./curve_reasons.js";
import { MARKS } from "../model/row_words.js";
import { snapshotPeriod } from "../model/snapshots.js";
import { paintSpacetime } from "./spacetime.js";

/**
 * @param {ReturnType<import("../model/snapshots.js").makePassages>} passages
 * @returns {import("../../../render/time_section.js").Diagram}
 */
export const makeTimeDiagram = (passages) => ({
  lanes: ({ lanes }) => lanes,
  spanUs: (state, watched) => spanOfPeriods(snapshotPeriod(state, watched), state.playing ? state.speed : 0),
  read: (state, watched, window, { wall_ms }) => passages.in(state, watched.topic, window, wall_ms),
  version: () => String(passages.version()),
  paint: (context, state, watched, theme, room) => paintSpacetime(context, state, watched, theme, { ...room, passages: room.shown }),
  paintOver: writeReasons,
  marks: (state, landmarks) => marksOf(state, landmarks, MARKS),
  note: noteOf,
  caption: (watched) => ({ lead: "duplicates", rest: " if it failed over now", others: othersOf(watched) }),
  hasCurve: (state, watched) => state.forecast.length === 0 || watched.peers.length > 0,
});

/** Writes on the curve why it fell or did not; a narrow page has no room for this. */
function writeReasons(context, state, watched, theme, { curve, points, shown, narrow, xAt, x0, x1, now_us }) {
  if (narrow) return;
  const reasons = curveReasons(state, watched, { points, markers: shown.markers, snapshots: shown.snapshots });
  const yAt = (value) => curveY(curve, value);
  paintReasons(context, theme, reasons, { xAt, yAt, x0, x1: Math.min(x1, Math.max(x0, xAt(now_us)) - 4), top: curve.top, bottom: curve.bottom, curve: boxesOf(curve, xAt, x0, x1), taken: [] });
}

/** Small boxes along the curve of the target, which labels should not cover. */
function boxesOf(curve, xAt, x0, x1) {
  const steps = curve.lines.filter(({ shown }) => shown).flatMap((line) => line.steps);
  const boxes = steps.map(({ from_us, to_us, value }) => ({ x: Math.max(x0, xAt(from_us)), end: Math.min(x1, xAt(to_us)), y: curveY(curve, value) - 1 }));
  return boxes.filter(({ x, end }) => end > x).map(({ x, end, y }) => ({ x, y, width: end - x, height: 2 }));
}

/** The regions whose curves are drawn faintly beside the target's. */
function othersOf({ peers, target }) {
  const others = peers.filter((peer) => peer !== target);
  return others.length > 1 ? "other regions" : (others[0] ?? "");
}

function noteOf({ bins, count, waiting }) {
  if (bins) return `${count ? whole(count) : "Many"} marker events, drawn as counts; zoom in to see each.`;
  return waiting ? "Loading…" : "";
}
