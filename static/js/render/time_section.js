/**
 * The time section: a diagram of the lab's protocol and the curve of duplicates on one axis, with one now line through both.
 *
 * @typedef {object} Diagram what a protocol draws in the section
 * @property {(watched: any) => string[]} lanes its lines
 * @property {(state: any, watched: any) => number} spanUs time shown when the viewer chose no window
 * @property {(state: any, watched: any, window: import("./time_axes.js").TimeWindow, given: any) => any} read what is shown in a window, with `waiting`
 * @property {() => string} version changes when `read` has something new
 * @property {(context: CanvasRenderingContext2D, state: any, watched: any, theme: any, room: import("./time_axes.js").Room & any) => any[]} paint returns positions that can be clicked
 * @property {(context: CanvasRenderingContext2D, state: any, watched: any, theme: any, room: import("./time_axes.js").Room & any) => void} [paintOver] what is written on the curve
 * @property {(state: any, landmarks: any[]) => any[]} marks faults and commands
 * @property {(shown: any) => string} note
 * @property {(watched: any) => {lead: string, rest: string, others: string}} caption of the curve
 * @property {(state: any, watched: any) => boolean} hasCurve
 */

import { required, setText } from "./dom.js";
import { LINE_PITCH_PX, LOW_PITCH_PX, NEAR_NOW, curveWords, paintTime, spacetimeHeight, timePanned, timeZoomed, turned } from "./time_axes.js";

/**
 * Handles the pointer on a time diagram: drag pans, Ctrl and the wheel zoom at the pointer, click chooses, double click seeks.
 * Time runs across, or down when vertical.
 */

/** A drag shorter than this is a click, px. */
const CLICK_PX = 4;

/**
 * @param {HTMLElement} section
 * @param {{vertical?: boolean, onPan: (by_px: number) => void, onZoom: (direction: 1 | -1, x: number) => void, onClick: (x: number, y: number) => void, onDouble: (x: number) => void, onHover: (x: number, y: number) => void}} on x, y in the section, px; onZoom and onDouble get the position along the axis
 */
export function listenToTime(section, on) {
  let from = null;
  let moved = 0;
  const along = (event) => (on.vertical ? event.clientY : event.clientX);
  const axis = ({ x, y }) => (on.vertical ? y : x);
  const place = (event) => {
    const box = section.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  section.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || /** @type {HTMLElement} */ (event.target).closest("button, select")) return;
    from = along(event);
    moved = 0;
  });
  section.addEventListener("pointermove", (event) => {
    if (from === null) {
      const { x, y } = place(event);
      on.onHover(x, y);
      return;
    }
    const by = along(event) - from;
    moved += Math.abs(by);
    if (moved < CLICK_PX) return;
    if (!section.hasPointerCapture(event.pointerId)) section.setPointerCapture(event.pointerId);
    from = along(event);
    on.onPan(by);
  });
  section.addEventListener("pointerup", (event) => {
    const { x, y } = place(event);
    if (from !== null && moved < CLICK_PX) on.onClick(x, y);
    from = null;
  });
  section.addEventListener("pointercancel", () => {
    from = null;
  });
  section.addEventListener("dblclick", (event) => {
    if (!/** @type {HTMLElement} */ (event.target).closest("button, select")) on.onDouble(axis(place(event)));
  });
  section.addEventListener(
    "wheel",
    (event) => {
      const across = event.shiftKey ? event.deltaY : event.deltaX;
      if (event.ctrlKey) on.onZoom(event.deltaY < 0 ? 1 : -1, axis(place(event)));
      else if (Math.abs(across) > Math.abs(event.shiftKey ? 0 : event.deltaY)) on.onPan(-across);
      else return; // a plain wheel scrolls the page
      event.preventDefault();
    },
    { passive: false },
  );
}

/** @typedef {{span_us: number, x1: number}} TimeAxis the span that is shown when the viewer chose none, and where it ends, px */

/** Limits of the curve's height; within them it uses the space that is left on the page. */
const LOWEST_CURVE_PX = 50;
const HIGHEST_CURVE_PX = 200;
/** Height of a line for the curve's caption, where it does not fit beside the curve. */
const CAPTION_PX = 32;
/** Free space under the section, px. */
const BELOW_PX = 30;
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
  const { section, canvas, chart, caption, note } = partsOf(root);
  const write = captionOf(section);
  let window = null;
  let painted = { places: [], curve: /** @type {import("./time_axes.js").Curve | null} */ (null) };
  let words = null; // of the curve
  let axis = { x0: 0, x1: 1 };
  const sharing = makeSharing(on.onChange);
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
    ...onMarks(section, canvas, () => painted.places, on.onMarker, (x, y) => window && sayCurve(chart, painted.curve, words, y, Math.min(usAt(x), now_us))),
  });

  return {
    /** Actions of the buttons and keys of the section. */
    acts: { magnifyTime: () => zoom(1), reduceTime: () => zoom(-1), earlier: () => pan(-KEY_PART), later: () => pan(KEY_PART), followTime: () => change(null) },
    update(state, watched, theme, { now_us: shown_us, plane, ratio, wall_ms, spare, lit, chosen, landmarks, bursts }) {
      now_us = shown_us;
      words = watched.curve;
      const lanes = diagram.lanes(watched);
      const own_px = placesOf(section.clientWidth, plane, lanes.length, theme.scale, spare);
      const { span_us, x1 } = sharing.of({ span_us: diagram.spanUs(state, watched), x1: own_px.x1 });
      const places_px = { ...own_px, x1 };
      const { width, height, x0 } = places_px;
      axis = { x0, x1 };
      window = turned(window, now_us, span_us, NEAR_NOW);
      const has_curve = diagram.hasCurve(state, watched) && showsForecast(root);
      const shown = diagram.read(state, watched, window, { wall_ms, bursts, landmarks });
      const begin_us = Math.floor(window.start_us / window.span_us) * window.span_us; // whole spans, so that few requests are needed while the window follows
      const points = risk_curve.points(state, begin_us - window.span_us, begin_us + 3 * window.span_us, wall_ms);
      const key = [state.epoch, state.number, now_us, window.start_us, window.span_us, width, height, x1, theme.ink.bg, theme.scale, ratio, watched.topic, watched.subject, watched.group, diagram.version(), bursts.version(), risk_curve.version(), watched.target, shown.waiting, lit?.row.seq, [...(chosen?.marks ?? [])], landmarks.length, has_curve].join("|");
      if (key !== drawn) {
        drawn = key;
        layOut({ section, chart, caption }, places_px);
        const furthest_us = Math.max(now_us, state.view?.furthest_us ?? 0);
        painted = paintTime(canvas, state, watched, theme, { ...places_px, diagram, has_curve, lanes, window, now_us, furthest_us, landmarks, ratio, shown, points, lit, chosen });
        setText(note, diagram.note(shown));
      }
      write(diagram.caption(watched), plane.turned);
      caption.hidden = chart.hidden = !diagram.hasCurve(state, watched);
    },
    axis: sharing.own,
    shareAxis: sharing.share,
    forget: () => void (drawn = ""),
  };
}

/** A tour may show the forecast only when its step comes. */
const showsForecast = ({ classList, dataset }) => !classList.contains("touring") || dataset.shows === undefined || dataset.shows.split(" ").includes("forecast");

/** The axis of this run alone, or the one that it shares with another run. */
function makeSharing(onChange) {
  /** @type {TimeAxis | null} */
  let own = null;
  /** @type {TimeAxis | null} */
  let shared = null;
  return {
    /** @param {TimeAxis} axis of this run @returns {TimeAxis} the one to show */
    of(axis) {
      own = axis;
      return shared ?? own;
    },
    own: () => own,
    /** @param {TimeAxis} axis */
    share(axis) {
      if (JSON.stringify(axis) === JSON.stringify(shared)) return;
      shared = axis;
      onChange();
    },
  };
}

/** Elements of the section. @param {HTMLElement} root */
function partsOf(root) {
  const section = required(root, "[data-part=time]");
  return { section, canvas: /** @type {HTMLCanvasElement} */ (required(section, "canvas[data-part=spacetime]")), chart: required(section, "[data-part=curve]"), caption: required(section, "[data-part=curve-caption]"), note: required(section, "[data-part=time-note]") };
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
  const isLow = spare - spacetimeHeight(lanes, scale) - BELOW_PX < LOWEST_CURVE_PX * scale;
  const pitch_px = isLow && !narrow ? LOW_PITCH_PX : LINE_PITCH_PX;
  const strip_px = spacetimeHeight(lanes, scale, pitch_px) + caption_px;
  const curve_px = Math.max(LOWEST_CURVE_PX * scale, Math.min(spare - strip_px - BELOW_PX, HIGHEST_CURVE_PX * scale));
  return { narrow, width, x0, x1, caption_px, pitch_px, strip_px, curve_px, height: strip_px + curve_px };
}

function layOut({ section, chart, caption }, { narrow, x0, caption_px, strip_px, height }) {
  section.style.height = `${height + 8}px`;
  chart.style.top = `${strip_px + 8}px`;
  chart.style.height = `${height - strip_px}px`;
  caption.style.top = `${narrow ? strip_px - caption_px + 14 : strip_px + 4}px`;
  caption.style.width = narrow ? "auto" : `${x0 - 34}px`;
}
