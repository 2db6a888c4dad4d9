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
