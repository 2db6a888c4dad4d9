/**
 * Draws one topic's replicators over time with Plotly: refused starts, replication backlog and the reported delay.
 * The three strips share one time axis, so that the delay, which stays 0, can be compared with the other two.
 */

import { climbing } from "../model/creation.js";
import { counted } from "../../../model/format.js";
import { plainChart } from "../../../render/plain_chart.js";

const STRIP_PX = 84;
const TOP_PX = 8;
const BOTTOM_PX = 26;

/** @param {HTMLElement} element @param {() => object | undefined} plotly */
export function makeRetryChart(element, plotly) {
  let drawn = "";
  return {
    /** @param {{one: object, starts: object, now_us: number, width: number}} given */
    update(given, theme) {
      const library = plotly();
      if (!library || given.width < 40) return;
      const key = JSON.stringify([given.starts.of, given.now_us, given.starts.refused.at_us.length, given.width, theme.ink.bg, theme.scale]);
      if (key === drawn) return;
      drawn = key;
      const strips = stripsOf(given, theme);
      const height = (TOP_PX + BOTTOM_PX + strips.length * (STRIP_PX + 14)) * theme.scale;
      element.style.height = `${height}px`;
      library.react(element, strips.map(traceOf), layoutOf(strips, given, theme, height), { displayModeBar: false, responsive: false, scrollZoom: false, doubleClick: false });
    },
  };
}

function stripsOf({ one, starts, now_us }, theme) {
  const strips = [{ title: "failed starts so far", ...climbing(starts.refused, now_us), colour: theme.ink.harm, shape: "hv", unit: "refused", theme }];
  if (!starts.curve) return strips; // a very long run: only refusals are listed
  const x = starts.curve.at_us.map((us) => us / 1e6);
  const delay = starts.curve.delay_us.map((us) => Math.floor(us / 1e6)); // as a broker prints it: whole seconds
  return [
    ...strips,
    { title: `replication backlog in ${one.from}, messages`, x, y: starts.curve.waiting, colour: theme.ink.proto, shape: "linear", unit: "waiting", theme },
    { title: "replicationDelayInSeconds", x, y: delay, colour: theme.ink.ink3, shape: "hv", unit: "s", theme },
  ];
}

const axisOf = (at) => (at === 0 ? "" : String(at + 1));

function traceOf(strip, at) {
  return { x: strip.x, y: strip.y, type: "scatter", mode: "lines", yaxis: `y${axisOf(at)}`, line: { shape: strip.shape, color: strip.colour, width: 1.8 * strip.theme.scale }, hovertemplate: `%{y} ${strip.unit}<extra>%{x:.3f} s</extra>` };
}

function layoutOf(strips, { now_us, width }, theme, height) {
  const font = { size: theme.label, color: theme.ink.ink3 };
  const axes = {};
  strips.forEach((strip, at) => {
    const top = 1 - at / strips.length;
    axes[`yaxis${axisOf(at)}`] = { domain: [top - 0.86 / strips.length, top - 0.24 / strips.length], ...scaleOf(strip.y), showgrid: false, zeroline: true, zerolinecolor: theme.ink.line, fixedrange: true, tickfont: font };
  });
  const titles = strips.map((strip, at) => ({ text: strip.title, xref: "paper", x: 0, yref: "paper", y: 1 - at / strips.length, xanchor: "left", yanchor: "top", showarrow: false, font: { size: theme.label, color: theme.ink.ink2 } }));
  return {
    width,
    height,
    margin: { l: 40 * theme.scale, r: 10, t: TOP_PX * theme.scale, b: BOTTOM_PX * theme.scale },
    ...plainChart(theme),
    xaxis: { range: [0, Math.max(1, now_us / 1e6) * 1.015], anchor: `y${axisOf(strips.length - 1)}`, ticksuffix: " s", showgrid: false, zeroline: false, fixedrange: true, tickfont: font, showline: true, linecolor: theme.ink.strong },
    annotations: titles,
    ...axes,
  };
}

/** Whole numbers only; a line that stays 0 is drawn above the axis, so that it is visible. */
function scaleOf(values) {
  const top = Math.max(0, ...values);
  if (top === 0) return { range: [-0.5, 1.5], tickvals: [0] };
  return { range: [-0.02 * top, top * 1.12], tickvals: top < 4 ? Array.from({ length: top + 1 }, (_one, value) => value) : undefined, nticks: 3, tickformat: "d" };
}

/** @returns {string} the chart as text, for screen readers */
export function retryWords(one, starts) {
  const waits = starts.curve ? `; backlog ${counted(starts.curve.waiting.at(-1) ?? 0, "message")}` : "";
  return `${one.from} to ${one.to}, ${one.topic}: ${counted(starts.refused.at_us.length, "failed start")} so far${waits}; replicationDelayInSeconds ${one.delay_s}.`;
}
