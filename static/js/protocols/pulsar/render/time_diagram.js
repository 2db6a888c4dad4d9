/** Pulsar's part of the time section: the space-time diagram of markers and snapshots, and the reasons of the curve. */

import { spanOfPeriods } from "../../../layout/time_axis.js";
import { curveOf } from "../../../model/forecast.js";
import { whole } from "../../../model/format.js";
import { marksOf } from "../../../model/marks.js";
import { axisOf } from "../../../render/curve.js";
import { curveReasons } from "../model/curve_reasons.js";
import { MARKS } from "../model/marks.js";
import { snapshotPeriod } from "../model/snapshot_period.js";
import { paintSpacetime } from "./spacetime.js";

/**
 * @param {ReturnType<import("../model/passages.js").makePassages>} passages
 * @returns {import("../../../render/time_section.js").Diagram}
 */
export const makeTimeDiagram = (passages) => ({
  lanes: ({ lanes }) => lanes.length,
  spanUs: (state, watched) => spanOfPeriods(snapshotPeriod(state, watched), state.playing ? state.speed : 0),
  read: (state, watched, window, { wall_ms }) => passages.in(state, watched.topic, window, wall_ms),
  version: () => String(passages.version()),
  paint: (canvas, state, watched, theme, given) => paintSpacetime(canvas, state, watched, theme, { ...given, lanes: watched.lanes, passages: given.shown, marks: marksOf(state, given.landmarks, MARKS), reasons: reasonsIn(state, watched, theme, given) }),
  note: noteOf,
  caption: (watched) => ({ lead: "duplicates", rest: " if it failed over now", others: othersOf(watched) }),
  hasCurve: (state, watched) => state.forecast.length === 0 || watched.peers.length > 0,
});

/** The reasons of the curve, with its axis in px of the canvas; nothing where a run has no curve. */
function reasonsIn(state, watched, theme, { window, points, shown, curve_px, strip_px, narrow }) {
  if (narrow) return null;
  const reasons = curveReasons(state, watched, { points, markers: shown.markers, snapshots: shown.snapshots });
  const { yAt, top, bottom } = axisOf(watched, theme, { points, window, height: curve_px });
  const { x, y } = curveOf(points, watched.subscription, watched.target);
  return { reasons, yAt: (value) => strip_px + yAt(value), top: strip_px + top, bottom: strip_px + bottom, steps: x.map((at_s, at) => ({ from_us: at_s * 1e6, to_us: (x[at + 1] ?? at_s) * 1e6, value: y[at] })) };
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
