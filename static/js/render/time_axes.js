/**
 * Paints the time panel: axis, the protocol's diagram, and the curve of duplicates if something failed now, with one now line through all.
 * It is one canvas, painted at once from one window, so all parts show the same instant at the same place in every frame.
 */

import { peersOf } from "../model/forecast.js";
import { counted, whole } from "../model/format.js";
import { prepared } from "./canvas.js";
import { markAs, paintWithChosen } from "./marks.js";
import { fontOf } from "./theme.js";

/**
 * Computes the time window of a diagram and its ticks.
 * The window does not scroll: it stays fixed while the now line crosses a part of it and then moves on by a step. Positions therefore stay
 * comparable and the chart below needs few updates. What is shown depends on the instant and the span alone.
 */

/** Shortest window, µs; longest window, µs; shortest time that one page is shown, s of the wall clock; default span, µs. */
export const SHORTEST_US = 50_000;
const LONGEST_US = 24 * 3600 * 1_000_000;
const PAGE_S = 5;
const DEFAULT_US = 2_500_000;

/**
 * How a window follows: the now line enters each window but the first at the share `earliest` and moves by `step` until the next one.
 * @typedef {{earliest: number, step: number}} Following
 */
/** In pages, with room for what comes next. */
export const IN_PAGES = { earliest: 0.5, step: 0.4 };
/** At most a tenth of the window is after the instant shown. */
export const NEAR_NOW = { earliest: 0.9, step: 0.1 };

/** @typedef {{start_us: number, span_us: number, held: boolean, away?: boolean}} TimeWindow held: the viewer chose the span; away: the viewer chose the start, too */

/** @returns {number} the default span for a playback speed */
export const spanFor = (speed) => Math.max(DEFAULT_US, PAGE_S * speed * 1e6);

/** Periods of a cycle that a window shows; the shortest time in which it is played through, s of the wall clock. */
const PERIODS = 3;
const PLAYED_S = 3;

/** @returns {number} the span that shows three periods, or more in fast playback */
export const spanOfPeriods = (period_us, speed) => Math.max(SHORTEST_US, PERIODS * period_us, PLAYED_S * speed * 1e6);

/**
 * @param {TimeWindow | null} window
 * @param {number} now_us
 * @param {number} wanted_us span when the viewer chose none
 * @param {Following} following
 * @returns {TimeWindow} the same object while the now line stays inside
 */
export function turned(window, now_us, wanted_us, { earliest, step } = IN_PAGES) {
  if (window?.away) return window;
  if (window?.held && isInsideMargin(window, now_us)) return window;
  const span_us = window?.held ? window.span_us : wanted_us;
  const page = Math.max(0, Math.floor((now_us / span_us - earliest) / step));
  const start_us = Math.round(page * step * span_us);
  const held = window?.held ?? false;
  return window?.start_us === start_us && window.span_us === span_us && window.held === held ? window : { start_us, span_us, held };
}

/** Whether the now line is well inside a window that the viewer has zoomed: the window then does not move. */
function isInsideMargin({ start_us, span_us }, now_us) {
  const share = (now_us - start_us) / span_us;
  return share <= 0.92 && (share >= 0.3 || (start_us === 0 && share >= 0));
}

/**
 * @param {TimeWindow} window
 * @param {1 | -1} direction 1 zooms in
 * @param {number} around_us keeps its position when it is inside the window; otherwise the window moves to include it
 */
export function timeZoomed(window, direction, around_us) {
  const span_us = Math.min(LONGEST_US, Math.max(SHORTEST_US, direction > 0 ? window.span_us / 2 : window.span_us * 2));
  const share = (around_us - window.start_us) / window.span_us;
  return { ...window, start_us: Math.max(0, Math.round(around_us - (share >= 0 && share <= 1 ? share : 0.7) * span_us)), span_us, held: true };
}

/** Moves the window by a span. It then stays there, wherever the now line is, until the viewer chooses to follow again. */
export function timePanned(window, by_us) {
  return { ...window, start_us: Math.max(0, Math.round(window.start_us + by_us)), held: true, away: true };
}

/**
 * @param {number} start_us
 * @param {number} span_us
 * @param {number} most ticks
 * @returns {{at_us: number, text: string}[]} round instants
 */
export function ticksOf(start_us, span_us, most) {
  const rough = span_us / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough);
  const digits = Math.max(0, Math.min(6, Math.ceil(-Math.log10(step / 1e6) - 1e-9)));
  const ticks = [];
  for (let at = Math.ceil(start_us / step); at * step <= start_us + span_us; at++) {
    ticks.push({ at_us: at * step, text: `${((at * step) / 1e6).toFixed(digits)} s` });
  }
  return ticks;
}

/** Distance of the diagram's lines, px, and that on a low page. */
export const LINE_PITCH_PX = 31;
export const LOW_PITCH_PX = 26;
const HEAD_PX = 34;
/** Space above the plot of the curve, px, and below it for the instants of the axis. */
const ABOVE_CURVE_PX = 6;
const BELOW_CURVE_PX = 22;
/** Factors of a power of ten that are figures of the curve's axis. */
const ROUND = [1, 2, 5, 10];

/**
 * @typedef {object} Room where a time panel is painted, px of its canvas
 * @property {TimeWindow} window
 * @property {number} x0 where the window begins
 * @property {number} x1 where it ends
 * @property {(us: number) => number} xAt
 * @property {(lane: string) => number} yAt
 * @property {string[]} lanes
 * @property {number} below lower edge of the diagram
 * @property {number} height of diagram and curve
 * @property {number} now_us
 * @property {number} furthest_us
 * @property {Curve | null} curve
 */
/** @typedef {{from_us: number, to_us: number, value: number}} Step duplicates until the next point, or up to the instant shown */
/**
 * @typedef {object} Curve
 * @property {{peer: string, shown: boolean, steps: Step[]}[]} lines up to the instant shown; shown: the line of the peer that is watched
 * @property {number} most the figure at the upper edge
 * @property {number} top of the plot, px
 * @property {number} bottom
 */

/** @returns {number} height of the diagram without the curve, px */
export const spacetimeHeight = (lanes, scale, pitch_px = LINE_PITCH_PX) => (HEAD_PX + (lanes - 1) * pitch_px + 22) * scale;

/**
 * @param {HTMLCanvasElement} canvas covers diagram and curve
 * @param {any} state
 * @param {any} watched
 * @param {import("./theme.js").Theme} theme
 * @param {any} given diagram, has_curve, lanes, pitch_px, window, x0, x1, width, height, strip_px, curve_px, now_us, furthest_us, points (of the curve, around the window), ratio, chosen, and what the diagram reads
 * @returns {{places: any[], curve: Curve | null}} positions that can be clicked, and the curve as painted
 */
export function paintTime(canvas, state, watched, theme, given) {
  const { diagram, lanes, pitch_px, window, x0, x1, width, height, ratio, chosen } = given;
  const room = {
    ...given,
    xAt: (us) => x0 + ((us - window.start_us) / window.span_us) * (x1 - x0),
    yAt: (lane) => (HEAD_PX + lanes.indexOf(lane) * pitch_px) * theme.scale,
    below: spacetimeHeight(lanes.length, theme.scale, pitch_px),
    curve: given.has_curve ? curveIn(watched.curve, theme, given) : null,
  };
  const painted = { width, height, ground: theme.ink.bg, part: "time", chosen };
  const places = paintWithChosen(prepared(canvas, width, height, ratio), painted, (context) => paintAll(context, state, watched, theme, diagram, room));
  return { places, curve: room.curve };
}

function paintAll(context, state, watched, theme, diagram, room) {
  const { xAt, x0, x1, height, now_us, curve } = room;
  context.textBaseline = "middle";
  paintGrid(context, theme, room);
  paintFuture(context, theme, xAt(room.furthest_us), x1, HEAD_PX * theme.scale - 12, height - 24);
  context.save();
  context.beginPath();
  context.rect(x0 - 6, 0, x1 - x0 + 12, height);
  context.clip();
  const places = diagram.paint(context, state, watched, theme, room);
  context.restore();
  if (curve) paintCurve(context, theme, curve, room);
  markAs(context, null);
  paintMarks(context, theme, diagram.marks(state, room.landmarks), { ...room, now_x: xAt(now_us) });
  paintNow(context, theme, xAt(now_us), height, x0, x1);
  if (curve) diagram.paintOver?.(context, state, watched, theme, room);
  return places;
}

function paintGrid(context, theme, { window, xAt, x0, x1, height, lanes, yAt }) {
  markAs(context, "axis");
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
  markAs(context, "time-future");
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

/** Draws faults and commands as dotted lines in the colour of harm through diagram and curve, with labels where they fit. */
function paintMarks(context, theme, marks, { xAt, x0, x1, height, below, now_x }) {
  let free = x0;
  markAs(context, "time-fault");
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
    context.font = fontOf(theme, theme.label, 600);
    const wide = context.measureText(mark.text).width;
    const crossed = now_x > x && now_x < x + wide + 8;
    const left = crossed || x + wide + 8 > x1 ? x - wide - 5 : x + 5;
    if (left < free) continue;
    context.textAlign = "left";
    context.lineJoin = "round";
    context.lineWidth = 4;
    context.strokeStyle = theme.ink.bg;
    context.strokeText(mark.text, left, below - 5 * theme.scale);
    context.fillStyle = theme.ink.harm;
    context.fillText(mark.text, left, below - 5 * theme.scale);
    free = left + wide + 10;
  }
}

function paintNow(context, theme, x, height, x0, x1) {
  if (x < x0 || x > x1 + 1) return;
  markAs(context, "time-now");
  context.fillStyle = theme.ink.ink;
  context.fillRect(x - 0.6, 10, 1.3, height - 30);
}

/** @returns {Curve} */
function curveIn({ name, peer: watched }, theme, { points, window, now_us, strip_px, curve_px }) {
  const known = points.slice(0, points.findLastIndex(([at_us]) => at_us <= now_us) + 1);
  const lines = peersOf(known, name).map((peer) => ({ peer, shown: peer === watched, steps: stepsOf(known, name, peer, now_us) }));
  return { lines, most: mostOf(points, name, window), top: strip_px + ABOVE_CURVE_PX, bottom: strip_px + curve_px - BELOW_CURVE_PX * theme.scale };
}

/**
 * @param {import("../model/forecast.js").Point[]} points
 * @returns {Step[]} without a step where a point has no value: nothing could fail there, or nothing take over
 */
export function stepsOf(points, name, peer, now_us) {
  return points.flatMap(([from_us, values], at) => {
    const value = values[name]?.[peer];
    return value === undefined ? [] : [{ from_us, to_us: points[at + 1]?.[0] ?? now_us, value }];
  });
}

/** The largest figure around the window, with some room above it. */
function mostOf(points, name, { start_us, span_us }) {
  let top = 4;
  for (const [at_us, values] of points) {
    if (at_us < start_us - span_us || at_us > start_us + span_us) continue;
    for (const value of Object.values(values[name] ?? {})) top = Math.max(top, value);
  }
  return top * 1.15;
}

/** @returns {number} the y of a number of duplicates, px */
export const curveY = ({ most, top, bottom }, value) => bottom - (value / most) * (bottom - top);

/** @returns {string} what the curve is at an instant, "" where it has no value */
export function curveWords({ lines }, { words }, at_us) {
  const line = lines.find(({ shown }) => shown);
  const step = line?.steps.findLast(({ from_us, to_us }) => from_us <= at_us && at_us <= to_us);
  return step ? `${counted(step.value, "duplicate")} ${words(line.peer)} at ${(at_us / 1e6).toFixed(3)} s` : "";
}

function paintCurve(context, theme, curve, { xAt, x0, x1, now_us }) {
  markAs(context, "axis");
  paintFigures(context, theme, curve, x0);
  context.save();
  context.beginPath();
  context.rect(x0, curve.top - ABOVE_CURVE_PX, Math.max(0, Math.min(x1, xAt(now_us)) - x0), curve.bottom - curve.top + 2 * ABOVE_CURVE_PX);
  context.clip();
  markAs(context, "time-curve");
  const partsOf = (is_shown) => curve.lines.filter(({ shown }) => shown === is_shown).flatMap((line) => cornersOf(curve, line.steps, xAt));
  for (const corners of partsOf(false)) stroke(context, corners, { colour: theme.ink.harmSoft, width: 1.2, dash: [6, 4] });
  for (const corners of partsOf(true)) {
    fillUnder(context, corners, curve.bottom, theme.ink.harmWash);
    stroke(context, corners, { colour: theme.ink.harm, width: 1.8 * theme.scale, dash: [] });
  }
  context.restore();
  markAs(context, "axis");
  context.fillStyle = theme.ink.strong;
  context.fillRect(x0, curve.bottom, x1 - x0, 1);
}

/** @returns {{x: number, y: number}[][]} corners of the steps, in parts without a gap */
function cornersOf(curve, steps, xAt) {
  const parts = [];
  let end_us = null;
  for (const { from_us, to_us, value } of steps) {
    if (from_us !== end_us) parts.push([]);
    const y = curveY(curve, value);
    parts.at(-1).push({ x: xAt(from_us), y }, { x: xAt(to_us), y });
    end_us = to_us;
  }
  return parts;
}

function trace(context, corners) {
  context.beginPath();
  corners.forEach(({ x, y }, at) => (at === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
}

function stroke(context, corners, { colour, width, dash }) {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.setLineDash(dash);
  trace(context, corners);
  context.stroke();
  context.setLineDash([]);
}

function fillUnder(context, corners, bottom, colour) {
  trace(context, corners);
  context.lineTo(corners[corners.length - 1].x, bottom);
  context.lineTo(corners[0].x, bottom);
  context.closePath();
  context.fillStyle = colour;
  context.fill();
}

/** Figures of the curve, left of it: 0 and one or two round ones, as many as do not touch. */
function paintFigures(context, theme, curve, x0) {
  context.font = fontOf(theme);
  context.fillStyle = theme.ink.ink3;
  context.textAlign = "right";
  for (const value of figuresOf(curve.most, curve.bottom - curve.top < 4 * theme.label ? 1 : 2)) context.fillText(whole(value), x0 - 4, curveY(curve, value));
}

/** @returns {number[]} 0 and at least one but at most `more` further figures, multiples of a round one */
export function figuresOf(most, more) {
  const power = 10 ** Math.floor(Math.log10(most / (more + 1)));
  const steps = ROUND.map((factor) => factor * power);
  const at = steps.findIndex((step) => step * (more + 1) > most);
  const count = Math.floor(most / steps[at]);
  return count > 0 ? Array.from({ length: count + 1 }, (_, times) => times * steps[at]) : [0, Math.floor(most / steps[at - 1]) * steps[at - 1]];
}
