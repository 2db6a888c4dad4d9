/**
 * The panel “Topics and policies”: topics and policies of each cluster side by side, and the start of every replicator.
 * One replicator is shown over time: the number of refused starts grows while replicationDelayInSeconds stays 0.
 */

import { lanesOf } from "../../../model/state.js";
import { headline, nextTry, partsOf, replicatorState, replicatorStateWords } from "../model/creation.js";
import { counted, whole } from "../../../model/format.js";
import { policyTables, topicTable } from "../render/creation_tables.js";
import { element, putParts } from "../../../render/dom.js";
import { makeRetryChart, retryWords } from "../render/retry_chart.js";

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
