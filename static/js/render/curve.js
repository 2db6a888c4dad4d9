/**
 * Draws the curve of duplicates if something failed now, with Plotly: steps per peer of `watched.curve`.
 * It shares the time window of the diagram above. It is redrawn at most four times per second, and only when something has changed.
 */

import { curveOf, peersOf } from "../model/forecast.js";
import { plainChart } from "./plain_chart.js";

/** Shortest time between two drawings, ms of the wall clock. */
const CURVE_EVERY_MS = 250;

/** A chart lower than this many lines of text has two figures on its axis, because three would touch. */
const LINES_FOR_THREE = 6;

/**
 * @param {HTMLElement} element
 * @param {() => object | undefined} plotly the library, undefined until it is loaded
 */
export function makeCurve(element, plotly) {
  let drawn_ms = -Infinity;
  let drawn = "";
  return {
    /**
     * @param {object} given window, x0, x1, width, height, points (of the curve, around the window)
     * @returns {boolean} whether a further drawing is needed
     */
    update(state, watched, theme, given, wall_ms) {
      const library = plotly();
      if (!library) return false;
      const key = [state.view.branch, state.at_us, state.view.seq, given.points.length, given.points[0]?.[0], given.window.start_us, given.window.span_us, watched.curve.name, watched.curve.peer, theme.ink.bg, given.width, given.height].join("|");
      if (key === drawn) return false;
      if (wall_ms - drawn_ms < CURVE_EVERY_MS) return true;
      drawn = key;
      drawn_ms = wall_ms;
      library.react(element, traces(given.points, watched, theme), layoutOf(watched, theme, given), { displayModeBar: false, responsive: false, staticPlot: false, scrollZoom: false, doubleClick: false });
      return false;
    },
    forget() {
      drawn = "";
      drawn_ms = -Infinity;
    },
  };
}

function traces(points, watched, theme) {
  const peers = peersOf(points, watched.curve.name);
  const ordered = [...peers.filter((peer) => peer === watched.curve.peer), ...peers.filter((peer) => peer !== watched.curve.peer)];
  return ordered.map((peer, at) => {
    const { x, y } = curveOf(points, watched.curve.name, peer);
    return {
      x,
      y,
      name: peer,
      type: "scatter",
      mode: "lines",
      line: { shape: "hv", color: at === 0 ? theme.ink.harm : theme.ink.harmSoft, width: at === 0 ? 1.8 * theme.scale : 1.2, dash: at === 0 ? "solid" : "dash" },
      fill: at === 0 ? "tozeroy" : "none",
      fillcolor: theme.ink.harmWash,
      hovertemplate: `%{y} duplicates ${watched.curve.words(peer)}<extra>%{x:.3f} s</extra>`,
    };
  });
}

/** Space above and below the plot, px. */
const ABOVE_PX = 6;
const below = (theme) => 22 * theme.scale;

/**
 * The vertical axis of the chart, for what is drawn over it.
 * @returns {{yAt: (value: number) => number, top: number, bottom: number}} px from the chart's upper edge
 */
export function axisOf(watched, theme, { points, window, height }) {
  const from = window.start_us / 1e6;
  const most = topOf(points, watched, from, from + window.span_us / 1e6);
  const bottom = height - below(theme);
  return { yAt: (value) => bottom - (value / most) * (bottom - ABOVE_PX), top: ABOVE_PX, bottom };
}

function layoutOf(watched, theme, { points, window, x0, x1, width, height }) {
  const from = window.start_us / 1e6;
  const to = (window.start_us + window.span_us) / 1e6;
  return {
    width,
    height,
    margin: { l: x0, r: Math.max(0, width - x1), t: ABOVE_PX, b: below(theme) },
    ...plainChart(theme),
    xaxis: { range: [from, to], showgrid: false, zeroline: false, showticklabels: false, fixedrange: true, showline: true, linecolor: theme.ink.strong },
    yaxis: { rangemode: "tozero", range: [0, topOf(points, watched, from, to)], showgrid: false, zeroline: false, nticks: height < LINES_FOR_THREE * theme.label ? 2 : 3, fixedrange: true, tickfont: { size: theme.label, color: theme.ink.ink3 } },
  };
}

function topOf(points, watched, from, to) {
  let top = 4;
  for (const [at_us, values] of points) {
    if (at_us / 1e6 < from - (to - from) || at_us / 1e6 > to) continue;
    for (const value of Object.values(values[watched.curve.name] ?? {})) top = Math.max(top, value);
  }
  return top * 1.15;
}
