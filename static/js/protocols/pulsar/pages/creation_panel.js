/**
 * The panel “Topics and policies”: topics and policies of each cluster side by side, and the start of every replicator.
 * One replicator is shown over time: the number of refused starts grows while replicationDelayInSeconds stays 0.
 */

import { counted, whole } from "../../../model/format.js";
import { lanesOf } from "../../../model/state.js";
import { climbing, headline, nextTry, partsOf, replicatorState, replicatorStateWords, shapeWords, sideBySide, topicsOf } from "../model/creation.js";
import { element, putParts } from "../../../render/dom.js";
import { plainChart } from "../../../render/plotly.js";
import { columnHeads } from "../../../render/terms.js";

/** Tables of the panel “Topics and policies”: topics and policies of every cluster side by side, with differences marked. */

/** @returns {HTMLElement} topics by cluster: number of partitions, schemas, clusters that it is replicated to */
export function topicTable(document, clusters) {
  const names = Object.keys(clusters);
  const head = headOf(document, "topic", clusters);
  const rows = topicsOf(clusters).map(({ topic, namespace, here, differs }) =>
    element(document, `tr${differs ? ".apart" : ""}`, {}, [
      element(document, "th", { scope: "row" }, [topic, element(document, "span.of", { text: namespace })]),
      ...here.map((one, place) => element(document, "td", {}, topicCell(document, one, names[place], differs))),
    ]),
  );
  return scrolling(document, "Topics by cluster", head, rows);
}

function topicCell(document, one, cluster, differs) {
  const parts = [element(document, `span.shape${one.partitions === null ? ".absent" : ""}`, {}, [...boxes(document, one.partitions), shapeWords(one)])];
  if (differs && one.partitions !== null) parts.push(element(document, "span.sr", { text: " (differs)" }));
  const elsewhere = one.list.filter((name) => name !== cluster);
  if (one.partitions !== null && elsewhere.length) parts.push(element(document, "span.detail", { text: `replicated to ${elsewhere.join(", ")} (list of the ${one.list_of})` }));
  if (one.schemas.length) parts.push(element(document, "span.detail", { text: `schemas ${one.schemas.map((name, version) => `${version}: ${name}`).join(", ")}` }));
  return parts;
}

const BOXES_MAX = 12;

/** One small square for each partition; a wide one for a plain topic. */
function boxes(document, partitions) {
  if (partitions === null) return [];
  const count = Math.min(partitions, BOXES_MAX);
  const drawn = partitions === 0 ? [element(document, "i.plain-log")] : Array.from({ length: count }, () => element(document, "i"));
  return [element(document, "span.boxes", { "aria-hidden": "true" }, drawn)];
}

/** @returns {HTMLElement[]} one table for each namespace */
export function policyTables(document, clusters) {
  return sideBySide(clusters).map(({ name, policies }) => {
    const rows = policies.map(({ policy, values, differs }) =>
      element(document, `tr${differs ? ".differs" : ""}`, {}, [element(document, "th", { scope: "row", text: policy }), ...values.map((value) => element(document, "td", { text: value ?? "no such namespace" }))]),
    );
    return scrolling(document, `Policies of ${name}`, headOf(document, { name }, clusters), rows);
  });
}

function headOf(document, first, clusters) {
  return element(document, "tr", {}, columnHeads(document, [first, ...Object.entries(clusters).map(([name, one]) => ({ name: one.state === "up" ? name : `${name} (${one.state})` }))]));
}

function scrolling(document, label, head, rows) {
  const table = element(document, "table", {}, [element(document, "thead", {}, [head]), element(document, "tbody", {}, rows)]);
  return element(document, "div.scrolls", { tabindex: 0, role: "region", "aria-label": label }, [table]);
}

/**
 * Draws one topic's replicators over time with Plotly: refused starts, replication backlog and the reported delay.
 * The three strips share one time axis, so that the delay, which stays 0, can be compared with the other two.
 */

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

const EVERY_MS = 400;

/** @type {import("../../../pages/panels.js").Panel} */
export const CREATION = { name: "topics", title: "Topics and policies", needs: "topics", family: "topic-creation", simulated: true, make };

const keyOf = (one) => `${one.from}/${one.to}/${one.topic}`;

function make(section, { document, requests, base, getState, say, wake, plotly }) {
  const { lead, list, picture, caption, tables } = skeleton(document, section);
  const chart = makeRetryChart(picture, plotly);
  let answer = null;
  let chosen = null;
  let key = "";
  let written = "";
  let asking = false;
  let asked_ms = -Infinity;

  async function ask(wanted, wall_ms) {
    asking = true;
    asked_ms = wall_ms;
    key = wanted;
    try {
      answer = await requests.get(`${base}creation.json${chosen ? `?of=${encodeURIComponent(chosen)}` : ""}`);
      const shown = choose(chosen, answer.replicators);
      if (shown !== chosen) [chosen, key] = [shown, ""];
      write();
    } catch (reason) {
      chosen = null; // the replicator may have been removed: the next request names none
      say({ error: reason.message, hint: reason.hint });
    }
    asking = false;
    wake();
  }

  function write() {
    putParts(document, lead, headline(answer.replicators));
    const held = /** @type {HTMLElement | null} */ (document.activeElement?.closest?.(".starts button"))?.dataset.of;
    list.replaceChildren(...answer.replicators.map((one) => itemOf(document, one, { is_chosen: keyOf(one) === chosen, at_us: answer.at_us, onLook: () => look(one) })));
    if (held) [...list.querySelectorAll("button")].find((button) => button.dataset.of === held)?.focus();
    const clusters = Object.fromEntries(lanesOf(getState()).filter((name) => name in answer.clusters).map((name) => [name, answer.clusters[name]])); // in the order of the lanes
    const text = JSON.stringify(clusters);
    if (text !== written) tables.replaceChildren(...tablesOf(document, clusters));
    written = text;
    const one = answer.replicators.find((other) => keyOf(other) === chosen);
    picture.hidden = caption.hidden = !(one && answer.starts);
    if (picture.hidden) return;
    picture.setAttribute("aria-label", retryWords(one, answer.starts));
    caption.textContent = `${one.from} → ${one.to}, ${one.topic}. ${captionOf(one)}`;
  }

  function look(one) {
    chosen = keyOf(one);
    key = "";
    write();
    wake();
  }

  return {
    update(state, _watched, { theme, wall_ms }) {
      const wanted = [state.view.branch, state.at_us, state.view.seq, chosen].join("|");
      if (wanted !== key && !asking && (!getState().playing || wall_ms - asked_ms >= EVERY_MS)) ask(wanted, wall_ms);
      const one = answer?.replicators.find((other) => keyOf(other) === chosen);
      if (one && answer.starts?.of === chosen) chart.update({ one, starts: answer.starts, now_us: answer.at_us, width: picture.clientWidth }, theme);
    },
  };
}

function captionOf(one) {
  const state_name = replicatorState(one);
  if (state_name === "refused") return "replicationDelayInSeconds is the age of the oldest entry in flight. Nothing is in flight, so it stays 0.";
  if (state_name === "stopped") return "It is connected and sends nothing more: the next entry waits for its schema. A changed policy takes effect only after the topic is unloaded.";
  if (state_name === "down") return `This replicator is not running: ${one.not_running}.`;
  return one.retries ? `It is running, after ${counted(one.retries, "failed start")}.` : "It started at the first attempt.";
}

/** The chosen replicator while it exists, else the first that is not running, else the first. */
function choose(chosen, replicators) {
  const kept = replicators.find((one) => keyOf(one) === chosen);
  const first = kept ?? replicators.find((one) => replicatorState(one) !== "runs") ?? replicators[0];
  return first ? keyOf(first) : null;
}

/** A replicator in the list: what prevents its start, and the metrics that a dashboard would show. */
function itemOf(document, one, { is_chosen, at_us, onLook }) {
  const state_name = replicatorState(one);
  const parts = partsOf(one);
  const button = element(document, "button.plain", { type: "button", "aria-pressed": String(is_chosen), "data-of": keyOf(one), onclick: onLook }, [
    element(document, `span.replicator-state.${state_name}`, { "aria-hidden": "true" }),
    element(document, "b", { text: `${one.from} → ${one.to}` }),
    ` ${one.topic} `,
    element(document, `span${state_name === "runs" ? ".soft" : ".harm-text"}`, { text: `${replicatorStateWords(one)}${parts ? ` (${parts})` : ""}` }),
  ]);
  const retry_words = [one.retries ? `${counted(one.retries, "failed start")}` : "", nextTry(one, at_us)].filter(Boolean).join(", ");
  const shown = `connected ${one.connected} · delay ${one.delay_s} s · backlog ${whole(one.replication_backlog)}`;
  return element(document, `li.${state_name}`, {}, [
    button,
    element(document, "p.dashboard", { text: shown, title: "As in topics stats" }),
    ...(one.last_error ? [element(document, "blockquote", { text: one.last_error })] : []),
    ...(retry_words ? [element(document, "p.quiet", { text: retry_words })] : []),
  ]);
}

/** The panel's parts, empty. */
function skeleton(document, section) {
  section.classList.add("creation");
  const lead = element(document, "p.lead-in", { role: "status", text: "Asking…" });
  const list = element(document, "ul.starts", { "aria-label": "Replicators" });
  const picture = element(document, "div.curves", { role: "img" });
  const caption = element(document, "p.quiet", {});
  const tables = element(document, "div.sides", {});
  section.replaceChildren(lead, element(document, "div.over-time", {}, [list, element(document, "div", {}, [picture, caption])]), tables);
  return { lead, list, picture, caption, tables };
}

function tablesOf(document, clusters) {
  const titled = (text, nodes) => element(document, "div", {}, [element(document, "h2", { text }), ...nodes]);
  return [titled("Topics by cluster", [topicTable(document, clusters)]), titled("Policies by cluster", policyTables(document, clusters))];
}
