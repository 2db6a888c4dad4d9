/**
 * The panel “Tenant migration”: the five steps with their progress and conditions, the map, the cost of a switch now.
 * The map shows the LookupService between the two clusters with the connected clients. Buttons send the commands that are possible now. All
 * of it is in the frames.
 */

import { whole } from "../../../model/format.js";
import { actionsOf, migrationSentence, placesOf, placesWords, progressOf, restSentence, shownMigration, stepFacts, stepWords, strategyWords, tenantMap } from "../model/migrations.js";
import { allOf, element, putParts, setText } from "../../../render/dom.js";
import { columnHeads, renew } from "../../../render/terms.js";
import { drawMove } from "../render/migration_map.js";

const CLIENTS_SHOWN = 12;
const NO_TENANTS = "No tenant of this scenario is in a LookupService's map. In a scenario, tenants: {acme: {cluster: blue}} puts one there, and its clients name no cluster.";

/** @type {import("../../../pages/panels.js").Panel} */
export const MIGRATION = { name: "migration", title: "Tenant migration", family: "tenant-migration", needs: "tenants", simulated: true, make };

function make(section, { document, window, link }) {
  let [selection, drawn] = [null, ""];
  const { chooser, says, acts, steps, waits, svg, map, places, cost, both } = skeleton(document, section);

  function offer(state, one) {
    const tenants = tenantMap(state);
    chooser.hidden = tenants.length < 2;
    chooser.replaceChildren(...tenants.map(([name, cluster]) => element(document, "button", { type: "button", "aria-pressed": String(name === (selection ?? one?.tenant ?? tenants[0][0])), text: `${name} in ${cluster}`, onclick: () => (selection = name) })));
  }

  function before(state) {
    const tenants = tenantMap(state);
    both.hidden = !tenants.length;
    if (!tenants.length) {
      setText(says, NO_TENANTS);
      acts.replaceChildren();
      return;
    }
    both.classList.add("resting");
    putParts(document, says, restSentence(state));
    acts.replaceChildren(...movesOf(tenants, Object.keys(state.view.clusters)).map(button), button(serviceAction(state.view.lookup.up)));
    for (const part of [steps, waits, cost]) part.replaceChildren();
    const client_places = placesOf(state, tenants.some(([tenant]) => tenant === selection) ? selection : tenants[0][0]);
    drawMap(state, client_places);
    setText(places, placesWords(client_places));
  }

  const drawMap = (state, client_places) => drawMove(document, svg, client_places, state.view, map.clientWidth || 560, Number(window.getComputedStyle(section).getPropertyValue("--scale")) || 1, CLIENTS_SHOWN);

  /** @param {{words: string, command: object, harm?: boolean}} action */
  const button = ({ words, command, harm }) => element(document, `button.act${harm ? ".harm" : ""}`, { type: "button", text: words, onclick: () => link.command(command) });

  function write(state, one) {
    both.hidden = false;
    both.classList.remove("resting");
    putParts(document, says, migrationSentence(one));
    acts.replaceChildren(...actionsOf(one).map(button), button(serviceAction(state.view.lookup.up)));
    steps.replaceChildren(...one.steps.map((step) => stepRow(document, step, one)));
    waits.replaceChildren(...conditions(document, one));
    const client_places = placesOf(state, one.tenant, one);
    drawMap(state, client_places);
    setText(places, `${placesWords(client_places)} Strategy: ${strategyWords(one.strategy)}.${one.way_back ? ` No way back: ${one.way_back}.` : ""}`);
    renew(cost, costTable(document, one));
  }

  return {
    update(state) {
      if (!state.view) return;
      const one = shownMigration(state, selection);
      const wanted = JSON.stringify([one, selection, map.clientWidth, ...shownOf(state.view)]);
      if (wanted === drawn) return;
      drawn = wanted;
      keepFocus(document, section, () => {
        offer(state, one);
        if (one && (!selection || one.tenant === selection)) write(state, one);
        else before(state);
      });
    },
  };
}

function stepRow(document, step, one) {
  const [title, what] = stepWords(step.name, one.strategy);
  const progress = progressOf(step);
  const bar = progress && progress.share !== null && step.state !== "waiting" && element(document, "progress", { max: 1, value: progress.share, "aria-label": `${title}: ${progress.words}` });
  return element(document, `li.${step.state}`, { "aria-current": step.name === one.at && one.state !== "finished" && one.state !== "rolled-back" ? "step" : false }, [
    element(document, "i.step-state", { "aria-hidden": "true" }),
    element(document, "div", {}, [
      element(document, "b", { text: title }),
      element(document, "span.what", { text: what }),
      element(document, "span.facts", { text: [stepFacts(step), progress?.words].filter(Boolean).join(" · ") }),
      ...(bar ? [bar] : []),
      ...(step.error && step.state === "failed" ? [element(document, "span.harm-text", { text: step.error })] : []),
    ]),
  ]);
}

function conditions(document, one) {
  if (!one.waits_for.length) return [];
  const heading = one.state === "rolling-back" ? "Before this is rolled back" : one.at === "switch" ? "Is it safe to switch?" : "What this waits for";
  const rows = one.waits_for.map(({ holds, words }) => element(document, `li${holds ? "" : ".unmet"}`, {}, [element(document, "span.tick", { text: holds ? "✓" : "✗", "aria-label": holds ? "met:" : "not met:" }), element(document, "span", { text: words })]));
  return [element(document, "h2", { text: heading }), element(document, "ul", {}, rows)];
}

function costTable(document, one) {
  const known = Object.entries(one.cost?.subscriptions ?? {});
  if (!known.length) return [];
  const figures = ({ duplicates, redeliveries, stranded, lost }) => [
    element(document, `td${duplicates ? ".harm-text" : ""}`, { text: whole(duplicates) }), element(document, "td", { text: whole(redeliveries) }),
    element(document, "td", { text: whole(stranded) }), element(document, `td${lost ? ".harm-text" : ""}`, { text: whole(lost) }),
  ];
  const head = element(document, "tr", {}, columnHeads(document, ["if switched now", "duplicates", "redelivered", "not replicated", "lost"]));
  const rows = [...known, ...(known.length > 1 ? [["total", one.cost.sum]] : [])].map(([name, values]) => element(document, "tr", {}, [element(document, "th", { scope: "row", text: name }), ...figures(values)]));
  return [element(document, "table", {}, [element(document, "thead", {}, [head]), element(document, "tbody", {}, rows)])];
}

/** The panel's parts, empty. */
function skeleton(document, section) {
  section.classList.add("migration");
  const chooser = element(document, "div.choice", { role: "group", "aria-label": "Tenant" });
  const says = element(document, "p.says", { "aria-live": "polite" });
  const acts = element(document, "div.acts", { role: "group", "aria-label": "Actions on this migration" });
  const steps = element(document, "ol.steps", {});
  const waits = element(document, "div.waits", {});
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("role", "img");
  const map = element(document, "div.map", {}, [svg]);
  const places = element(document, "p.quiet.places", {});
  const cost = element(document, "div.scrolls", { tabindex: 0, role: "region", "aria-label": "Forecast of a switch now" });
  const both = element(document, "div.both", {}, [steps, waits, element(document, "div.where", {}, [map, places, cost])]);
  section.replaceChildren(chooser, element(document, "div.move-head", {}, [says, acts]), both);
  return { chooser, says, acts, steps, waits, svg, map, places, cost, both };
}

const serviceAction = (up) => (up ? { words: "Stop the LookupService", command: { do: "lookup.stop" }, harm: true } : { words: "Start the LookupService", command: { do: "lookup.start" } });

const movesOf = (tenants, clusters) => tenants.flatMap(([tenant, cluster]) => clusters.filter((name) => name !== cluster).map((to) => ({ words: `Move ${tenant} to ${to}`, command: { do: "migration.start", tenant, to } })));

/** The parts of the view that the panel shows besides the migration: it is rewritten only when one of them has changed. */
function shownOf({ lookup, clusters, links }) {
  const statesOf = (replicators) => Object.values(replicators ?? {}).map((one) => one.state);
  const wires = Object.values(clusters).map(({ state, topics }) => [state, Object.values(topics ?? {}).map(({ replicators }) => statesOf(replicators))]);
  return [lookup, wires, Object.values(links ?? {}).map((one) => one.state)];
}

/** Rewrites buttons and restores the focus to the button with the same text. */
function keepFocus(document, section, write) {
  const focused = document.activeElement?.closest(".acts, .choice") ? document.activeElement.textContent : null;
  write();
  if (focused) allOf(section, ".acts button, .choice button").find((other) => other.textContent === focused)?.focus();
}
