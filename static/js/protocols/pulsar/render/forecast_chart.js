/**
 * Draws the forecast's curves with Plotly: one strip per figure over the same time, with a line per remote.
 * Actual failovers are marked with their forecast (ring) and actual figure (dot). It is redrawn at most a few times per second, and only
 * when something has changed.
 */

import { counted, seconds, span } from "../../../model/format.js";
import { isEverAboveZero } from "../model/risk_points.js";
import { plainChart } from "../../../render/plain_chart.js";

export const CHART_EVERY_MS = 300;
const STRIP_PX = 92;
const TOP_PX = 36;
const NAME_PX = 84;
const BOTTOM_PX = 26;
const GAP = 0.12;

const STRIPS = [
  { name: "duplicates", title: "duplicates", always: true },
  { name: "stranded", title: "not replicated" },
  { name: "lost", title: "lost" },
  { name: "lag_us", title: "sync lag, s", always: true },
];

/** @returns {typeof STRIPS} the figures with something to show */
export const stripsOf = (points, failovers) => STRIPS.filter(({ name, always }) => always || isEverAboveZero(points, failovers, name));

/** @param {HTMLElement} element @param {() => object | undefined} plotly */
export function makeForecastChart(element, plotly) {
  let drawn = "";
  let drawn_ms = -Infinity;
  return {
    /**
     * @param {{points: object, failovers: object[], target: string | null, now_us: number, width: number}} given
     * @returns {boolean} whether a further drawing is needed
     */
    update(given, theme, wall_ms) {
      const library = plotly();
      if (!library || given.width < 40) return false;
      const { points, failovers } = given;
      const key = JSON.stringify([points.branch, points.subscription, points.at_us.length, points.at_us.at(-1), failovers.map((one) => [one.at_us, one.duplicates, one.stranded, one.lost]), given.target, given.now_us, given.width, theme.ink.bg, theme.scale]);
      if (key === drawn) return false;
      if (wall_ms - drawn_ms < CHART_EVERY_MS) return true;
      drawn = key;
      drawn_ms = wall_ms;
      const strips = stripsOf(points, failovers);
      const height = TOP_PX + BOTTOM_PX + strips.length * (STRIP_PX + 18) * theme.scale;
      element.style.height = `${height}px`;
      library.react(element, tracesOf(strips, given, theme), layoutOf(strips, given, theme, height), { displayModeBar: false, responsive: false, scrollZoom: false, doubleClick: false });
      return false;
    },
  };
}

/** Remotes in the order of their lines: the watched target first, then by name. */
const peersOf = (points, target) => Object.keys(points.peers).sort((one, other) => Number(other === target) - Number(one === target) || one.localeCompare(other));
const DASHES = ["solid", "dash", "dot"];
const DASH_WORDS = ["solid", "dashed", "dotted"];

/** @returns {string} the dashes of the remotes' lines, when there are several */
export function lineWords(points, target) {
  const peers = peersOf(points, target);
  return peers.length < 2 ? "" : peers.map((peer, place) => `${DASH_WORDS[place % 3]} ${peer}`).join(", ");
}

const axisOf = (at) => (at === 0 ? "" : String(at + 1));

function tracesOf(strips, { points, failovers, target }, theme) {
  const x = points.at_us.map((us) => us / 1e6);
  const peers = peersOf(points, target);
  const lines = strips.flatMap(({ name }, at) =>
    peers.map((peer, place) => {
      const lag = name === "lag_us";
      const colours = lag ? [theme.ink.proto, theme.ink.soft] : [theme.ink.harm, theme.ink.harmSoft];
      return {
        x,
        y: points.peers[peer][name].map((value) => (value === null ? null : lag ? value / 1e6 : value)),
        name: peer,
        type: "scatter",
        mode: "lines",
        yaxis: `y${axisOf(at)}`,
        line: { shape: lag ? "linear" : "hv", color: colours[place === 0 ? 0 : 1], width: (place === 0 ? 1.8 : 1.2) * theme.scale, dash: DASHES[place % 3] },
        hovertemplate: lag ? `sync lag of ${peer}: %{y:.3f} s<extra>%{x:.3f} s</extra>` : `%{y} in ${peer}<extra>%{x:.3f} s</extra>`,
      };
    }),
  );
  return [...lines, ...strips.flatMap(({ name }, at) => (name === "lag_us" ? [] : marksOf(name, at, failovers, theme)))];
}

/** Marks each failover by a ring at the forecast figure and a dot at the actual one; when they are equal the dot is in the ring. */
function marksOf(name, at, failovers, theme) {
  const x = failovers.map((one) => one.at_us / 1e6);
  const text = failovers.map((one) => `${one.from} to ${one.to}: forecast ${one.forecast?.[name] ?? "–"}, actual ${one[name] ?? "–"}`);
  const common = { x, text, type: "scatter", mode: "markers", yaxis: `y${axisOf(at)}`, hovertemplate: "%{text}<extra></extra>" };
  return [
    { ...common, y: failovers.map((one) => one.forecast?.[name] ?? null), marker: { symbol: "circle-open", size: 13 * theme.scale, color: theme.ink.ink, line: { width: 1.6 * theme.scale } } },
    { ...common, y: failovers.map((one) => one[name] ?? null), marker: { symbol: "circle", size: 6 * theme.scale, color: theme.ink.ink } },
  ];
}

function layoutOf(strips, { points, failovers, now_us, width }, theme, height) {
  const from = (points.at_us[0] ?? 0) / 1e6;
  const to = Math.max(points.at_us.at(-1) ?? 0, now_us, ...failovers.map((one) => one.at_us), 1e6) / 1e6;
  const font = { size: theme.label, color: theme.ink.ink3 };
  const axes = {};
  strips.forEach(({ name }, at) => {
    const top = 1 - at / strips.length;
    axes[`yaxis${axisOf(at)}`] = { domain: [top - (1 - GAP * 1.6) / strips.length, top - (GAP * 1.2) / strips.length], range: [0, topOf(name, points, failovers) * 1.12], showgrid: false, zeroline: true, zerolinecolor: theme.ink.line, nticks: 3, fixedrange: true, tickfont: font };
  });
  const line = (us, colour, dash) => ({ type: "line", x0: us / 1e6, x1: us / 1e6, yref: "paper", y0: 0, y1: 1, layer: "below", line: { color: colour, width: 1.2 * theme.scale, dash } });
  const titles = strips.map(({ title }, at) => ({ text: title, xref: "paper", x: 0, yref: "paper", y: 1 - at / strips.length, xanchor: "left", yanchor: "top", showarrow: false, font: { size: theme.label, color: theme.ink.ink2 } }));
  const pixel = (us) => ((us / 1e6 - from) / Math.max(1e-6, to - from)) * (width - 44 * theme.scale);
  const close = failovers.map((one, at) => at > 0 && pixel(one.at_us) - pixel(failovers[at - 1].at_us) < NAME_PX * theme.scale);
  const raised = close.reduce((rows, near, at) => [...rows, near && !rows[at - 1]], []); // two names close to each other are on different lines
  const names = failovers.map((one, at) => ({ text: `to ${one.to}`, x: one.at_us / 1e6, yref: "paper", y: 1, yshift: raised[at] ? 13 * theme.scale : 0, yanchor: "bottom", xanchor: "center", showarrow: false, font: { size: theme.label, color: theme.ink.harm } }));
  return {
    width,
    height,
    margin: { l: 34 * theme.scale, r: 10, t: TOP_PX * theme.scale, b: BOTTOM_PX * theme.scale },
    ...plainChart(theme),
    xaxis: { range: [from, to + (to - from) * 0.015], anchor: `y${axisOf(strips.length - 1)}`, ticksuffix: " s", showgrid: false, zeroline: false, fixedrange: true, tickfont: font, showline: true, linecolor: theme.ink.strong },
    shapes: [...failovers.map((one) => line(one.at_us, theme.ink.harm, "dot")), line(now_us, theme.ink.ink, "solid")],
    annotations: [...titles, ...names],
    ...axes,
  };
}

function topOf(name, points, failovers) {
  let top = name === "lag_us" ? 0.1 : 4;
  for (const columns of Object.values(points.peers)) for (const value of columns[name]) top = Math.max(top, name === "lag_us" ? value / 1e6 : value);
  for (const one of failovers) top = Math.max(top, name === "lag_us" ? 0 : Math.max(one[name] ?? 0, one.forecast?.[name] ?? 0));
  return top;
}

/** @returns {string} the chart as text, for screen readers */
export function chartWords(now, failovers) {
  const peers = Object.entries(now).map(([peer, one]) => `${peer}: ${counted(one.duplicates, "duplicate")}, ${one.stranded} not replicated, ${one.lost} lost, sync lag ${one.lag_us ? span(one.lag_us) : "0 ms"}`);
  const moved = failovers.map((one) => `at ${seconds(one.at_us)} s to ${one.to}, forecast ${one.forecast?.duplicates ?? "none"}, actual ${counted(one.duplicates ?? 0, "duplicate")}`);
  return `Forecast over time. Now ${peers.join("; ") || "no region could take over"}.${moved.length ? ` Failovers: ${moved.join("; ")}.` : ""}`;
}
