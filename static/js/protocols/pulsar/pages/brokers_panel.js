/**
 * The panel “Brokers”: load, dispatch queue and bytes sent of brokers with limits, and the latency of their readers.
 * Latency is shown over time and by place in the fan-out. The panel appears where a scenario declares brokers. While it is shown, its data is
 * requested again after a pause.
 */

import { bytes, counted, span, whole } from "../../../model/format.js";
import { element } from "../../../render/dom.js";
import { plainChart } from "../../../render/plotly.js";
import { headCell, renew } from "../../../render/terms.js";

/**
 * Draws the charts of the panel “Brokers” with Plotly: latency and load of each broker over time, and latency by place.
 * The second chart shows, for each audience, the latency of the last message against the place in the fan-out. Lines are in ink,
 * distinguished by their dashes and named at their ends.
 */

export const CHART_EVERY_MS = 300;
const HEIGHT_PX = 250;
const DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"];
const NAMED_MOST = DASHES.length;
const DASH_WORDS = ["solid", "dashed", "dotted", "dash and dot", "long dashes", "long dash and dot"];
const POINTS_MARKED = 40; // more points would only make the line thicker

/** Brokers sorted by their longest latency. */
const ranked = (answer) => Object.entries(answer.brokers).sort(([one, a], [other, b]) => Math.max(0, ...b.waited_us) - Math.max(0, ...a.waited_us) || one.localeCompare(other));

/** @returns {string} the load chart as text */
export function brokerWords(answer) {
  const [worst] = ranked(answer);
  const waited = Math.max(0, ...worst[1].waited_us);
  if (waited === 0) return "Nothing has left a broker yet.";
  const busiest = Math.max(...Object.values(answer.brokers).map((one) => Math.max(...one.busy)));
  const names = ranked(answer).slice(0, NAMED_MOST).map(([name], place) => `${DASH_WORDS[place]} ${name}`);
  return `Longest latency: ${span(waited)}, ${worst[0]}. Highest load of a broker: ${Math.round(busiest / 10_000)} %. ${names.length > 1 ? `Lines: ${names.join(", ")}.` : ""}`;
}

/** @returns {string} the chart of places as text */
export function placeWords(answer) {
  return served(answer)
    .map(([name, one]) => `${name.split("/")[0]}: place 1 after ${span(one.latency_by_place[0][1])}, place ${one.latency_by_place.at(-1)[0] + 1} after ${span(one.latency_by_place.at(-1)[1])}`)
    .join("; ") || "No message delivered yet.";
}

/** Audiences that received messages, the slowest first. */
const served = (answer) =>
  Object.entries(answer.audiences)
    .filter(([, one]) => one.latency_by_place.length > 0)
    .sort(([one, a], [other, b]) => b.latency_by_place.at(-1)[1] - a.latency_by_place.at(-1)[1] || one.localeCompare(other));

/** @param {HTMLElement} element @param {() => object | undefined} plotly */
export const makeLoadChart = (element, plotly) => makeChart(element, plotly, loadChart);

/** @param {HTMLElement} element @param {() => object | undefined} plotly */
export const makePlaceChart = (element, plotly) => makeChart(element, plotly, placeChart);

function makeChart(element, plotly, chartOf) {
  let drawn = null;
  let drawn_ms = -Infinity;
  return {
    /** @returns {boolean} whether a further drawing is needed */
    update(answer, width, theme, wall_ms) {
      const library = plotly();
      const key = [width, theme.ink.bg, theme.scale].join("|");
      if (!library || width < 40 || (drawn?.answer === answer && drawn.key === key)) return false;
      if (wall_ms - drawn_ms < CHART_EVERY_MS) return true;
      drawn = { answer, key };
      drawn_ms = wall_ms;
      const height = HEIGHT_PX * theme.scale;
      element.style.height = `${height}px`;
      const { traces, layout } = chartOf(answer, theme);
      library.react(element, traces, { width, height, ...plainChart(theme), ...layout }, { displayModeBar: false, responsive: false, scrollZoom: false, doubleClick: false });
      return false;
    },
  };
}

const lineOf = (place, theme) => ({ color: place === 0 ? theme.ink.ink : theme.ink.ink2, width: (place === 0 ? 1.8 : 1.3) * theme.scale, dash: DASHES[place % NAMED_MOST] });
const quietAxis = (theme) => ({ showgrid: false, zeroline: false, fixedrange: true, tickfont: { size: theme.label, color: theme.ink.ink3 }, showline: true, linecolor: theme.ink.strong });
const note = (text, x, y, theme, more = {}) => ({ text, xref: "paper", yref: "paper", x, y, showarrow: false, font: { size: theme.label, color: theme.ink.ink2 }, ...more });

/** Seconds or milliseconds, depending on the largest value. */
function unitOf(values) {
  const top = Math.max(0, ...values);
  return top >= 2e6 ? { by: 1e6, suffix: " s" } : { by: 1000, suffix: " ms" };
}

function loadChart(answer, theme) {
  const brokers = ranked(answer);
  const unit = unitOf(brokers.flatMap(([, one]) => one.waited_us));
  const x = brokers[0][1].busy.map((_value, at) => ((at + 1) * answer.span_us) / 1e6);
  const traces = brokers.flatMap(([name, one], place) => [
    { x, y: one.waited_us.map((us) => (us === null ? null : us / unit.by)), name, type: "scatter", mode: one.waited_us.filter((us) => us !== null).length > POINTS_MARKED ? "lines" : "lines+markers", connectgaps: true, marker: { size: 4 * theme.scale, color: lineOf(place, theme).color }, line: lineOf(place, theme), hovertemplate: `${name}: %{y:.4~g}${unit.suffix} old<extra>%{x:.2f} s</extra>` },
    { x, y: one.busy.map((share) => share / 10_000), name, type: "scatter", mode: "lines", yaxis: "y2", line: { ...lineOf(place, theme), shape: "hv" }, hovertemplate: `${name}: %{y:.0f} % busy<extra>%{x:.2f} s</extra>` },
  ]);
  return {
    traces,
    layout: {
      margin: { l: 52 * theme.scale, r: 14, t: 18 * theme.scale, b: 26 * theme.scale },
      xaxis: { ...quietAxis(theme), anchor: "y2", ticksuffix: " s", range: [0, Math.max(answer.at_us / 1e6, 0.001) * 1.01] },
      yaxis: { ...quietAxis(theme), domain: [0.5, 0.94], rangemode: "tozero", nticks: 4, ticksuffix: unit.suffix },
      yaxis2: { ...quietAxis(theme), domain: [0, 0.36], range: [0, 108], tickvals: [0, 50, 100], ticksuffix: " %" },
      shapes: [{ type: "line", xref: "paper", x0: 0, x1: 1, yref: "y2", y0: 100, y1: 100, layer: "below", line: { color: theme.ink.line, width: theme.scale } }],
      annotations: [
        note("highest latency per interval", 0, 1, theme, { xanchor: "left", yanchor: "bottom" }),
        note("load per interval", 0, 0.38, theme, { xanchor: "left", yanchor: "bottom" }),
      ],
    },
  };
}

function placeChart(answer, theme) {
  const audiences = served(answer);
  const unit = unitOf(audiences.flatMap(([, one]) => one.latency_by_place.map(([, us]) => us)));
  const traces = audiences.map(([name, one], place) => ({
    x: one.latency_by_place.map(([at]) => at + 1),
    y: one.latency_by_place.map(([, us]) => us / unit.by),
    name: name.split("/")[0],
    type: "scatter",
    mode: "lines",
    line: lineOf(place, theme),
    hovertemplate: `${name.split("/")[0]}, place %{x}: %{y:.4~g}${unit.suffix}<extra></extra>`,
  }));
  const widest = Math.max(1, ...audiences.map(([, one]) => one.subscriptions));
  const ends = audiences.map(([name, one]) => ({ text: name.split("/")[0], x: one.latency_by_place.at(-1)[0] + 1, y: one.latency_by_place.at(-1)[1] / unit.by }));
  return {
    traces,
    layout: {
      margin: { l: 52 * theme.scale, r: 90 * theme.scale, t: 18 * theme.scale, b: 40 * theme.scale },
      xaxis: { ...quietAxis(theme), range: [0, widest * 1.02], nticks: 6, title: { text: "place in the fan-out", font: { size: theme.label, color: theme.ink.ink2 }, standoff: 4 } },
      yaxis: { ...quietAxis(theme), rangemode: "tozero", nticks: 5, ticksuffix: unit.suffix },
      annotations: [
        note("latency of the last message at this place", 0, 1, theme, { xanchor: "left", yanchor: "bottom" }),
        ...apart(ends, Math.max(1e-9, ...ends.map((one) => one.y)), widest).map(({ text, x, y, yshift }) => ({ text, x, y, yshift: yshift * theme.scale, xanchor: x < widest * 0.85 ? "right" : "left", xshift: 5, showarrow: false, font: { size: theme.label, color: theme.ink.ink2 } })),
      ],
    },
  };
}

/** Names at nearly the same position are placed above each other; a name in the middle of the chart is above its line. */
function apart(ends, top, widest) {
  const placed = [];
  for (const end of ends.slice(0, NAMED_MOST)) {
    const near = placed.filter((other) => Math.abs(other.x - end.x) < widest * 0.2 && Math.abs(other.y - end.y) < top * 0.1).length;
    placed.push({ ...end, yshift: 14 * near + (end.x < widest * 0.85 ? 11 : 0) });
  }
  return placed;
}

const EVERY_MS = 700;
const REST = 4; // pause before the next request, as a multiple of the time that the last answer took

/** @type {import("../../../pages/panels.js").Panel} */
export const BROKERS = { name: "brokers", title: "Brokers", needs: "brokers", simulated: true, make };

function make(section, { document, window, requests, base, say, wake, plotly }) {
  const { head, halves, place_half, load, load_words, places, place_words, readers } = skeleton(document, section);
  const charts = [makeLoadChart(load, plotly), makePlaceChart(places, plotly)];
  let answer = null;
  let key = "";
  let asking = false;
  let next_ms = -Infinity;
  let later = null; // timer of a pending drawing

  async function ask(wanted) {
    asking = true;
    key = wanted;
    const began_ms = window.performance.now();
    try {
      answer = await requests.get(`${base}brokers.json`);
      write();
    } catch (reason) {
      say({ error: reason.message, hint: reason.hint });
    }
    const took_ms = window.performance.now() - began_ms;
    next_ms = window.performance.now() + Math.max(EVERY_MS, REST * took_ms);
    asking = false;
    wake();
  }

  function write() {
    const none = Object.keys(answer.brokers).length === 0;
    halves.hidden = readers.hidden = none;
    renew(head, [none ? element(document, "p.quiet", { text: "This scenario declares no brokers: dispatching takes no time here. A section “brokers” (docs/pulsar.md) gives them a time per dispatch, a bandwidth and a time per connection." }) : brokerTable(document, answer)]);
    if (none) return;
    renew(readers, [readerTable(document, answer), element(document, "p.quiet", { text: "Latency: from publishing until the message has left the broker; p99 by nearest rank. 145 µs per dispatch and 30 ms per client, where a scenario uses them, are a fit to the one point that PIP-180 measured." })]);
    const shown = Object.keys(answer.audiences).length > 0;
    place_half.hidden = !shown;
    load_words.textContent = brokerWords(answer);
    place_words.textContent = shown ? placeWords(answer) : "";
    load.setAttribute("aria-label", `${brokerWords(answer)} The table above has the figures.`);
    places.setAttribute("aria-label", place_words.textContent);
  }

  function redraw() {
    later = null;
    wake();
  }

  head.append(element(document, "p.quiet", { text: "Asking…" }));
  return {
    update(state, _watched, { theme, wall_ms }) {
      const wanted = [state.view.branch, state.at_us, state.view.seq].join("|");
      if (wanted !== key && !asking && (!state.playing || window.performance.now() >= next_ms)) ask(wanted);
      if (!answer || halves.hidden) return;
      const owed = [charts[0].update(answer, load.clientWidth, theme, wall_ms), !place_half.hidden && charts[1].update(answer, places.clientWidth, theme, wall_ms)];
      if (owed.some(Boolean) && later === null) later = window.setTimeout(redraw, CHART_EVERY_MS);
    },
  };
}

/** @returns {string} a broker's limits as text */
function limitWords({ dispatch_us, bandwidth_bytes_per_s, connect_us }) {
  const words = [];
  if (dispatch_us) words.push(`${span(dispatch_us)} per dispatch`);
  if (bandwidth_bytes_per_s !== null) words.push(`${bytes(bandwidth_bytes_per_s)}/s`);
  if (connect_us) words.push(`${span(connect_us)} per client`);
  return words.join(", ") || "none";
}

function readerTable(document, answer) {
  const connected = Object.fromEntries(Object.values(answer.audiences).map((one) => [`${one.cluster}/${one.topic}/${nameOf(answer, one)}`, one]));
  const rows = answer.readers.map((one) => {
    const audience = connected[`${one.cluster}/${one.topic}/${one.name}`];
    const many = audience ? `${one.name} (${whole(audience.connected)} of ${whole(audience.subscriptions)}${audience.connect_us ? `, last one after ${span(audience.connect_us)}` : ""})` : one.name;
    return [many, { kind: "words", text: one.broker }, whole(one.so_far.delivered), ...["mean_us", "p50_us", "p99_us", "max_us"].map((name) => span(one.so_far[name])), one.lately.delivered ? span(one.lately.p99_us) : "–"];
  });
  return table(document, ["latency of", "served by", "messages", "mean", "p50", "p99", "max", "p99 of the last 2 s"], rows);
}

function brokerTable(document, answer) {
  const rows = Object.entries(answer.brokers).map(([name, one]) => [
    name,
    { kind: "words", text: one.topics.join(", ") || "nothing" },
    { kind: "words", text: limitWords(one.limits) },
    one.queued ? counted(one.queued, "dispatch", "dispatches") : "–",
    one.queued_us ? span(one.queued_us) : "–",
    `${(one.busy_millionths / 10_000).toFixed(1)} %`,
    `${bytes(one.bytes_out)}`,
    `${bytes(Math.max(0, ...one.bytes_per_s))}/s`,
  ]);
  return table(document, ["broker", "serves", "limits", "dispatch queue", "queued work", "busy", "sent", "peak rate"], rows);
}

const table = (document, heads, rows) =>
  element(document, "table.figures", {}, [
    element(document, "thead", {}, [element(document, "tr", {}, heads.map((text, at) => headCell(document, "col", text, rows.length && typeof rows[0][at] === "object" ? `.${rows[0][at].kind}` : "")))]),
    element(document, "tbody", {}, rows.map(([first, ...cells]) => element(document, "tr", {}, [element(document, "th", { scope: "row", text: first }), ...cells.map((cell) => (typeof cell === "string" ? element(document, "td", { text: cell }) : element(document, `td.${cell.kind}`, { text: cell.text })))]))),
  ]);

/** An audience's name; the view's key also contains the topic. */
const nameOf = (answer, audience) => Object.keys(answer.audiences).find((name) => answer.audiences[name] === audience).split("/")[0];

/** The panel's parts, empty. */
function skeleton(document, section) {
  section.classList.add("brokers");
  const head = element(document, "div.scrolls", {});
  const load = element(document, "div.curves", { role: "img" });
  const places = element(document, "div.curves", { role: "img" });
  const readers = element(document, "div.scrolls", {});
  const load_words = element(document, "p.quiet", {});
  const place_words = element(document, "p.quiet", {});
  const time_half = element(document, "div.half", {}, [element(document, "h3", { text: "Latency and load" }), load_words, load]);
  const place_half = element(document, "div.half", {}, [element(document, "h3", { text: "Latency by place in the fan-out" }), place_words, places]);
  const halves = element(document, "div.halves", {}, [time_half, place_half]);
  section.replaceChildren(head, halves, readers);
  return { head, halves, place_half, load, load_words, places, place_words, readers };
}
