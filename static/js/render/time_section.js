/**
 * The time section: a diagram of the lab's protocol and the curve of duplicates on one axis, with one now line through both.
 *
 * @typedef {object} Diagram what a protocol draws in the section
 * @property {(watched: any) => string[]} lanes its lines
 * @property {(state: any, watched: any) => number} spanUs time shown when the viewer chose no window
 * @property {(state: any, watched: any, window: import("../layout/time_axis.js").TimeWindow, given: any) => any} read what is shown in a window, with `waiting`
 * @property {() => string} version changes when `read` has something new
 * @property {(context: CanvasRenderingContext2D, state: any, watched: any, theme: any, room: import("./time_axes.js").Room & any) => any[]} paint returns positions that can be clicked
 * @property {(context: CanvasRenderingContext2D, state: any, watched: any, theme: any, room: import("./time_axes.js").Room & any) => void} [paintOver] what is written on the curve
 * @property {(state: any, landmarks: any[]) => any[]} marks faults and commands
 * @property {(shown: any) => string} note
 * @property {(watched: any) => {lead: string, rest: string, others: string}} caption of the curve
 * @property {(state: any, watched: any) => boolean} hasCurve
 */

import { NEAR_NOW, timePanned, timeZoomed, turned } from "../layout/time_axis.js";
import { required, setText } from "./dom.js";
import { curveWords, paintTime, spacetimeHeight } from "./time_axes.js";
import { listenToTime } from "./time_gestures.js";

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
 * @param {ReturnType<import("../model/curve_window.js").makeCurveWindow>} risk_curve
 * @param {Diagram} diagram
 */
export function makeTimeSection(root, on, risk_curve, diagram) {
  const section = required(root, "[data-part=time]");
  const canvas = required(section, "canvas[data-part=spacetime]");
  const chart = required(section, "[data-part=curve]");
  const caption = required(section, "[data-part=curve-caption]");
  const write = captionOf(section);
  const note = required(section, "[data-part=time-note]");
  let window = null;
  let painted = { places: [], curve: /** @type {import("./time_axes.js").Curve | null} */ (null) };
  let words = null; // of the curve
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
    ...onMarks(section, canvas, () => painted.places, on.onMarker, (x, y) => sayCurve(chart, painted.curve, words, y, Math.min(usAt(x), now_us))),
  });

  return {
    /** Actions of the buttons and keys of the section. */
    acts: { magnifyTime: () => zoom(1), reduceTime: () => zoom(-1), earlier: () => pan(-KEY_PART), later: () => pan(KEY_PART), followTime: () => change(null) },
    update(state, watched, theme, { now_us: shown_us, plane, ratio, wall_ms, spare, lit, chosen, landmarks, bursts }) {
      now_us = shown_us;
      words = watched.curve;
      const lanes = diagram.lanes(watched);
      const places_px = placesOf(section.clientWidth, plane, lanes.length, theme.scale, spare);
      const { width, height, x0, x1 } = places_px;
      axis = { x0, x1 };
      window = turned(window, now_us, diagram.spanUs(state, watched), NEAR_NOW);
      const shown = diagram.read(state, watched, window, { wall_ms, bursts, landmarks });
      const begin_us = Math.floor(window.start_us / window.span_us) * window.span_us; // whole spans, so that few requests are needed while the window follows
      const points = risk_curve.points(state, begin_us - window.span_us, begin_us + 3 * window.span_us, wall_ms);
      const key = [state.epoch, state.number, now_us, window.start_us, window.span_us, width, height, theme.ink.bg, theme.scale, ratio, watched.topic, watched.subject, watched.group, diagram.version(), bursts.version(), risk_curve.version(), watched.target, shown.waiting, lit?.row.seq, [...(chosen?.marks ?? [])], landmarks.length].join("|");
      if (key !== drawn) {
        drawn = key;
        layOut({ section, chart, caption }, places_px);
        const furthest_us = Math.max(now_us, state.view?.furthest_us ?? 0);
        painted = paintTime(canvas, state, watched, theme, { ...places_px, diagram, lanes, window, now_us, furthest_us, landmarks, ratio, shown, points, lit, chosen });
        setText(note, diagram.note(shown));
      }
      write(diagram.caption(watched), plane.turned);
      caption.hidden = chart.hidden = !diagram.hasCurve(state, watched);
    },
    forget: () => {
      drawn = "";
    },
  };
}

/** Writes the caption of the curve; on a narrow page without the other curves. */
function captionOf(section) {
  const [lead, rest, others] = ["curve-lead", "curve-rest", "curve-others"].map((name) => required(section, `[data-part=${name}]`));
  return function write(words, narrow) {
    setText(lead, words.lead);
    setText(rest, words.rest);
    setText(others, narrow ? "" : words.others);
  };
}

/** Says beside the pointer what the curve is at its instant. */
function sayCurve(chart, curve, words, y, at_us) {
  const said = curve && y >= curve.top && y <= curve.bottom ? curveWords(curve, words, at_us) : "";
  if (chart.title !== said) chart.title = said;
}

/** Handles clicks and hovering near a marker of the diagram; `onPlace` receives each place under the pointer, px of the canvas. */
function onMarks(section, canvas, getPlaces, onMarker, onPlace) {
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
      onPlace(x, y - canvas.offsetTop);
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
  chart.style.height = `${height - strip_px}px`;
  caption.style.top = `${narrow ? strip_px - caption_px + 14 : strip_px + 4}px`;
  caption.style.width = narrow ? "auto" : `${x0 - 34}px`;
}
