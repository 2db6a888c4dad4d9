/**
 * The panel “Brokers”: load, dispatch queue and bytes sent of brokers with limits, and the latency of their readers.
 * Latency is shown over time and by place in the fan-out. The panel appears where a scenario declares brokers. While it is shown, its data is
 * requested again after a pause.
 */

import { bytes, counted, span, whole } from "../../../model/format.js";
import { brokerWords, CHART_EVERY_MS, makeLoadChart, makePlaceChart, placeWords } from "../render/broker_charts.js";
import { element } from "../../../render/dom.js";
import { headCell, renew } from "../../../render/terms.js";

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
    renew(head, [none ? element(document, "p.quiet", { text: "This scenario declares no brokers: dispatching takes no time here. A section “brokers” (docs/broadcast.md) gives them a time per dispatch, a bandwidth and a time per connection." }) : brokerTable(document, answer)]);
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
