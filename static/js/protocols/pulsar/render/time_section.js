/** The time section: space-time diagram and risk curve on one axis, with one now line through both. */

import { NEAR_NOW, spanOfPeriods, timePanned, timeZoomed, turned } from "../../../layout/time_axis.js";
import { snapshotPeriod } from "../model/snapshot_period.js";
import { marksOf } from "../../../model/marks.js";
import { MARKS } from "../model/marks.js";
import { whole } from "../../../model/format.js";
import { curveOf } from "../../../model/forecast.js";
import { curveReasons } from "../model/curve_reasons.js";
import { axisOf, makeCurve } from "./curve.js";
import { required, setText } from "../../../render/dom.js";
import { paintSpacetime, spacetimeHeight } from "./spacetime.js";
import { listenToTime } from "../../../render/time_gestures.js";

/** Limits of the curve's height; within them it uses the space that is left on the page. */
const LOWEST_CURVE_PX = 58;
const HIGHEST_CURVE_PX = 200;
/** Height of a line for the curve's caption, where it does not fit beside the curve. */
const CAPTION_PX = 32;
/** Largest distance of a click from a marker, px. */
const NEAR_PX = 12;
/** Share of the window by which a key pans. */
const KEY_PART = 0.25;

/**
 * @param {HTMLElement} root
 * @param {{onMarker: (number: number) => void, onChange: () => void, onInstant: (at_us: number) => void}} on
 * @param {() => object | undefined} plotly
 * @param {ReturnType<import("../model/passages.js").makePassages>} passages
 * @param {ReturnType<import("../../../model/curve_window.js").makeCurveWindow>} risk_curve
 */
export function makeTimeSection(root, on, plotly, passages, risk_curve) {
  const section = required(root, "[data-part=time]");
  const canvas = required(section, "canvas[data-part=spacetime]");
  const chart = required(section, "[data-part=curve]");
  const caption = required(section, "[data-part=curve-caption]");
  const others = required(section, "[data-part=curve-others]");
  const note = required(section, "[data-part=time-note]");
  const curve = makeCurve(chart, plotly);
  let window = null;
  let places = [];
  let axis = { x0: 0, x1: 1 };
  let now_us = 0;
  let drawn = "";

  const usAt = (x) => window.start_us + ((x - axis.x0) / (axis.x1 - axis.x0)) * window.span_us;
  function change(next) {
    window = next;
    drawn = "";
    on.onChange();
  }
  const pan = (part) => window && change(timePanned(window, part * window.span_us));
  const zoom = (direction, around_us = now_us) => window && change(timeZoomed(window, direction, around_us));
  listenToTime(section, {
    onPan: (by_px) => pan(-by_px / (axis.x1 - axis.x0)),
    onZoom: (direction, x) => zoom(direction, usAt(x)),
    onDouble: (x) => window && on.onInstant(usAt(x)),
    ...onMarks(section, canvas, () => places, on.onMarker),
  });

  return {
    acts: { magnifyTime: () => zoom(1), reduceTime: () => zoom(-1), earlier: () => pan(-KEY_PART), later: () => pan(KEY_PART), followTime: () => change(null) },
    /** @returns {boolean} whether a further drawing of the curve is needed */
    update(state, watched, theme, { now_us: shown_us, plane, ratio, wall_ms, spare, lit, chosen, landmarks }) {
      now_us = shown_us;
      const { lanes } = watched;
      const places_px = placesOf(section.clientWidth, plane, lanes.length, theme.scale, spare);
      const { width, height, x0, x1 } = places_px;
      axis = { x0, x1 };
      window = turned(window, now_us, spanOfPeriods(snapshotPeriod(state, watched), state.playing ? state.speed : 0), NEAR_NOW);
      const shown = passages.in(state, watched.topic, window, wall_ms);
      const begin_us = Math.floor(window.start_us / window.span_us) * window.span_us; // whole spans, so that few requests are needed while the window follows
      const points = risk_curve.points(state, begin_us - window.span_us, begin_us + 3 * window.span_us, wall_ms);
      const key = [state.epoch, state.number, now_us, window.start_us, window.span_us, width, height, theme.ink.bg, theme.scale, ratio, watched.topic, watched.subject, passages.version(), risk_curve.version(), watched.target, shown.waiting, lit?.row.seq, [...(chosen?.marks ?? [])], landmarks.length].join("|");
      if (key !== drawn) {
        drawn = key;
        layOut({ section, chart, caption }, places_px);
        const furthest_us = Math.max(now_us, state.view?.furthest_us ?? 0);
        places = paintSpacetime(canvas, state, watched, theme, { width, height, x0, x1, lanes, window, now_us, furthest_us, marks: marksOf(state, landmarks, MARKS), ratio, passages: shown, lit, chosen, reasons: reasonsIn(state, watched, theme, { ...places_px, window, points, shown }) });
        setText(note, noteOf(shown));
      }
      setText(others, plane.turned ? "" : othersOf(watched));
      caption.hidden = chart.hidden = state.forecast.length > 0 && watched.peers.length === 0;
      return curve.update(state, watched, theme, { window, x0, x1, width, height: places_px.curve_px, points }, wall_ms);
    },
    forget: () => {
      drawn = "";
      curve.forget();
    },
  };
}

/** The reasons of the curve, with its axis in px of the canvas; nothing where a run has no curve. */
function reasonsIn(state, watched, theme, { window, points, shown, curve_px, strip_px, narrow }) {
  if (narrow) return null;
  const reasons = curveReasons(state, watched, { points, markers: shown.markers, snapshots: shown.snapshots });
  const { yAt, top, bottom } = axisOf(watched, theme, { points, window, height: curve_px });
  const { x, y } = curveOf(points, watched.subscription, watched.target);
  return { reasons, yAt: (value) => strip_px + yAt(value), top: strip_px + top, bottom: strip_px + bottom, steps: x.map((at_s, at) => ({ from_us: at_s * 1e6, to_us: (x[at + 1] ?? at_s) * 1e6, value: y[at] })) };
}

/** Handles clicks and hovering near a marker of the diagram. */
function onMarks(section, canvas, getPlaces, onMarker) {
  const near = (x, y) => {
    const [nearest] = getPlaces().map((place) => ({ place, far: Math.hypot(place.x - x, place.y - (y - canvas.offsetTop)) })).sort((a, b) => a.far - b.far);
    return nearest && nearest.far < NEAR_PX ? nearest.place : null;
  };
  return {
    onClick: (x, y) => {
      const place = near(x, y);
      if (place) onMarker(place.number);
    },
    onHover: (x, y) => {
      section.style.cursor = near(x, y) ? "pointer" : "";
    },
  };
}

/** Positions of diagram and curve, px: on one axis from x0 to x1, the curve below the diagram in the space that is left. */
function placesOf(width, plane, lanes, scale, spare) {
  const narrow = plane.turned;
  const x0 = narrow ? 72 : plane.a0;
  const x1 = narrow ? width - 10 : Math.min(width - 8, plane.a1 + 40 * scale);
  const caption_px = narrow ? CAPTION_PX : 0; // on a narrow page the caption does not fit beside the curve and gets a line of its own
  const strip_px = spacetimeHeight(lanes, scale) + caption_px;
  const curve_px = Math.max(LOWEST_CURVE_PX * scale, Math.min(spare - strip_px - 30, HIGHEST_CURVE_PX * scale));
  return { narrow, width, x0, x1, caption_px, strip_px, curve_px, height: strip_px + curve_px };
}

function layOut({ section, chart, caption }, { narrow, x0, caption_px, strip_px, height }) {
  section.style.height = `${height + 8}px`;
  chart.style.top = `${strip_px + 8}px`;
  caption.style.top = `${narrow ? strip_px - caption_px + 14 : strip_px + 4}px`;
  caption.style.width = narrow ? "auto" : `${x0 - 34}px`;
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
