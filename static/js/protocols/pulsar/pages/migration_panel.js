/**
 * The panel “Tenant migration”: the five steps with their progress and conditions, the map, the cost of a switch now.
 * The map shows the LookupService between the two clusters with the connected clients. Buttons send the commands that are possible now. All
 * of it is in the frames.
 */

import { counted, seconds, whole } from "../../../model/format.js";
import { allOf, element, putParts, setText } from "../../../render/dom.js";
import { columnHeads, renew } from "../../../render/terms.js";

/**
 * Tenant migrations from a frame's view: the one shown, its steps as texts, its conditions, the commands possible now.
 * Pure. Every figure is the engine's.
 */

const STEP_WORDS = {
  metadata: ["Metadata", "tenant, roles, namespaces, topics and subscriptions are created"],
  "topic-data": ["Topic data", "replication in both directions, existing backlog included"],
  "consumption-progress": ["Consumption progress", "acknowledgement state is synced in both directions"],
  switch: ["Switch", "the LookupService's map is changed, then topics are unloaded so that clients look up again"],
  "clean-up": ["Clean-up", "everything in the old cluster is deleted"],
};

/** Descriptions of steps that differ for a strategy. */
const OTHER_WORDS = {
  snapshots: { "consumption-progress": "replicated subscriptions in both directions: snapshots carry the mark-delete position" },
  none: { "consumption-progress": "nothing is synced" },
  "blue-green": {
    "topic-data": "nothing is copied", "consumption-progress": "nothing is synced",
    switch: "topics are terminated; each client is redirected when its subscription is drained", "clean-up": "the LookupService's map is changed, then everything in the old cluster is deleted",
  },
};

/** @returns {[string, string]} a step's title, and its description under a strategy */
export const stepWords = (name, strategy) => [STEP_WORDS[name][0], OTHER_WORDS[strategy]?.[name] ?? STEP_WORDS[name][1]];

const STRATEGY_WORDS = {
  "acknowledgement-sync": "acknowledgement sync",
  snapshots: "replicated subscriptions (snapshots)",
  none: "no progress synced",
  "blue-green": "blue-green: nothing copied, old cluster drained",
};
export const strategyWords = (strategy) => STRATEGY_WORDS[strategy] ?? strategy;

/** @returns {[string, string][]} each tenant with its cluster in the LookupService, in the map's order */
export const tenantMap = (state) => Object.entries(state.view?.lookup?.tenants ?? {});

/** The migration that is shown: the newest one of the chosen tenant, else the newest of all. */
export function shownMigration(state, tenant) {
  const all = state.view?.migrations ?? [];
  return all.findLast((one) => one.tenant === tenant) ?? all[all.length - 1] ?? null;
}

/** @returns {import("../../../render/sentence.js").Part[]} its state, and the cost of a switch now */
export function migrationSentence(one) {
  const number = one.steps.findIndex(({ name }) => name === one.at) + 1;
  const step = `step ${number}, ${STEP_WORDS[one.at][0].toLowerCase()},`;
  const who = `${one.tenant} moves from ${one.from} to ${one.to}: `;
  const unmet = one.waits_for.filter(({ holds }) => !holds).length;
  switch (one.state) {
    case "finished":
      return [{ strong: `${one.tenant} is in ${one.to}` }, `. Nothing is left in ${one.from}.`];
    case "rolled-back":
      return [{ strong: `${one.tenant} is back in ${one.from}` }, `. Nothing is left in ${one.to}.`];
    case "failed":
      return [who, { harm: `${step} failed` }, ": ", one.steps[number - 1].error ?? "", "."];
    case "paused":
      return [who, `${step} is `, { strong: "paused" }, "."];
    case "rolling-back":
      return [`${one.tenant} rolls back from ${one.to} to ${one.from}: ${step} is undone`, ...(unmet ? [" ", { harm: `once ${counted(unmet, "condition")} ${unmet === 1 ? "holds" : "hold"}` }] : []), "."];
    case "running":
      return [who, `${step} is running`, ...costWords(one)];
    default:
      return [who, `${step} waits`, ...(unmet ? [" ", { harm: `for ${counted(unmet, "condition")}` }] : one.at === "switch" ? [": ", { strong: "it is safe to switch" }] : [" to be started"]), ...costWords(one)];
  }
}

function costWords(one) {
  const cost = one.cost?.sum;
  if (!cost) return ["."];
  const duplicates = cost.duplicates ? { harm: counted(cost.duplicates, "duplicate") } : { strong: "no duplicates" };
  return [". A switch now would cause ", duplicates, `, ${whole(cost.stranded)} not replicated, `, cost.lost ? { harm: `${whole(cost.lost)} lost` } : "0 lost", "."];
}

/** A step's state as text, with instants and number of attempts. */
export function stepFacts(step) {
  const words = { waiting: "not started", running: "running", done: "done", failed: "failed", paused: "paused", skipped: "skipped: nothing to do", undoing: "rolling back", undone: "rolled back" }[step.state];
  return `${words}${instantsOf(step)}${step.attempts > 1 ? `, ${step.attempts} attempts` : ""}`;
}

function instantsOf({ state, started_us, finished_us }) {
  if (started_us === null) return "";
  if (state === "running") return ` since ${seconds(started_us, 2)} s`;
  if (finished_us === null) return `, started at ${seconds(started_us, 2)} s`;
  return state === "undone" ? ` at ${seconds(finished_us, 2)} s` : `, ${seconds(started_us, 2)} to ${seconds(finished_us, 2)} s`;
}

const ONE_OF = { entries: "entry" };

/** Progress of a step as a share from 0 to 1 (null: completed) and as text; null where nothing is counted. */
export function progressOf(step) {
  const { done = 0, total = 0, unit = "" } = step.progress ?? {};
  if (!total || step.state === "skipped") return null;
  const words = `${whole(total)} ${total === 1 ? (ONE_OF[unit] ?? unit.replace(/s$/, "")) : unit}`;
  if (step.state === "done" || step.state === "undone") return { share: null, words };
  return { share: Math.min(1, done / total), words: `${whole(done)} of ${words}` };
}

/**
 * The commands that are possible for a migration now, the most useful first.
 * @returns {{command: object, words: string, harm?: boolean}[]}
 */
export function actionsOf(one) {
  const ask = (name, words, more = {}, harm = false) => ({ command: { do: `migration.${name}`, tenant: one.tenant, ...more }, words, harm });
  if (one.state === "finished" || one.state === "rolled-back") return [];
  if (one.state === "rolling-back") return [];
  const asked = [];
  const ready = one.waits_for.every(({ holds }) => holds);
  if (one.state === "failed" || one.state === "paused") asked.push(ask("resume", one.state === "failed" ? "Retry" : "Resume"));
  if (one.state === "waiting") {
    if (one.at === "switch") asked.push(ready ? ask("switch", `Switch to ${one.to}`) : ask("switch", "Force switch", { force: true }, true));
    else if (one.at === "clean-up") asked.push(ask("clean-up", `Clean up ${one.from}`));
    else asked.push(ask("advance", `Start ${STEP_WORDS[one.at][0].toLowerCase()}`));
  }
  if (one.switched_at_us === null && one.at !== "metadata" && one.at !== "switch" && one.strategy !== "blue-green") asked.push(ask("switch", "Force switch", { force: true }, true));
  if (one.state === "running" || one.state === "waiting") asked.push(ask("pause", "Pause"));
  if (one.way_back === null) asked.push(ask("roll-back", `Roll back to ${one.from}`, {}, true));
  return asked;
}

/**
 * Where a tenant's clients are: in the two clusters of its migration, or else in its cluster on the map and the first other one.
 * @returns {{tenant: string, mapped: string, from: string, to: string | null, source: string[], target: string[], nowhere: [string, number][]}}
 * `nowhere` are the clients without a broker, each with its number of refused lookups
 */
export function placesOf(state, tenant, one = null) {
  const { tenants, clients } = state.view.lookup;
  const { connected = {}, nowhere = {} } = clients[tenant] ?? {};
  const from = one?.from ?? tenants[tenant];
  const to = one?.to ?? Object.keys(state.view.clusters).find((name) => name !== from) ?? null;
  return { tenant, mapped: tenants[tenant], from, to, source: connected[from] ?? [], target: connected[to] ?? [], nowhere: Object.entries(nowhere) };
}

/** The same as text. */
export function placesWords({ from, to, source, target, nowhere }) {
  const words = [`${source.length} connected in ${from}`, ...(to ? [`${target.length} in ${to}`] : [])];
  const unconnected = nowhere.map(([name, tries]) => (tries ? `${name} (${counted(tries, "failed lookup")})` : name));
  if (unconnected.length) words.push(`${unconnected.length} without a broker: ${unconnected.join(", ")}`);
  return `Clients: ${words.join(", ")}.`;
}

/** The headline while no migration is running. */
export function restSentence(state) {
  const { up, tenants, clients } = state.view.lookup;
  const places = Object.entries(tenants).map(([tenant, cluster]) => `${tenant} is in ${cluster}`).join(", ");
  if (up) return [`No migration is running. LookupService: ${places}.`];
  const unconnected = Object.values(clients).flatMap(({ nowhere }) => Object.keys(nowhere));
  const who = unconnected.length ? [{ harm: `${counted(unconnected.length, "client")} without a broker` }, "; connected clients are not affected."] : ["connected clients are not affected."];
  return [`No migration is running. ${places}. `, { harm: "The LookupService is down" }, ": ", ...who];
}

/** Draws the map of a tenant migration: the old cluster, the LookupService with its arrow, the new cluster, and the clients. */

const NS = "http://www.w3.org/2000/svg";

/**
 * @param {Document} document
 * @param {SVGElement} svg
 * @param {ReturnType<typeof placesOf>} client_places places of the tenant's clients
 * @param {object} view states of the clusters, the links and the LookupService
 * @param {number} width CSS pixels
 * @param {number} scale 1, or larger on a projector
 * @param {number} most largest number of client names in one place
 */
export function drawMove(document, svg, client_places, view, width, scale, most) {
  const { tenant, mapped, from, to, source, target, nowhere } = client_places;
  const { up } = view.lookup;
  const row = 17 * scale;
  const lines = Math.max(1, ...[source, target].map((names) => Math.min(most + 1, names.length)));
  const service = 56 * scale;
  const [side, gap] = [Math.max(90, width * 0.36), Math.max(40, width * 0.28)];
  const top = service + 44 * scale;
  const height = top + 30 * scale + lines * row + 12 * scale;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("width", String(width));
  svg.setAttribute("height", String(height));
  svg.replaceChildren();
  const right = side + gap;
  const centre = width / 2;
  const drawing = { svg, side, scale };

  box(svg, centre - side / 2, 1, side, service, `service${up ? "" : " down"}`);
  write(svg, centre, 20 * scale, "LookupService", "place", "middle");
  write(svg, centre, 40 * scale, up ? `${tenant} → ${mapped}` : "is down", up ? "mapped" : "mapped refused", "middle");
  arrow(svg, centre, service + 1, mapped === from ? side / 2 : right + side / 2, top, up);
  place(0, from, source);
  if (to !== null) place(right, to, target);
  nowhere.slice(0, UNCONNECTED_SHOWN).forEach(([name, tries], index) => drawUnconnected(drawing, centre + side / 2, name, tries, 18 * scale + index * row));
  if (nowhere.length > UNCONNECTED_SHOWN) write(svg, centre + side / 2 + 10 * scale, 18 * scale + UNCONNECTED_SHOWN * row, `and ${nowhere.length - UNCONNECTED_SHOWN} more`, "quiet");
  if (to !== null) {
    link(svg, view, [side, right], from, to, top + 18 * scale, true);
    link(svg, view, [side, right], to, from, top + 34 * scale, false);
  }
  const places = [`${source.length} clients in ${from}`, ...(to === null ? [] : [`${target.length} in ${to}`]), `${nowhere.length} without a broker`];
  svg.setAttribute("aria-label", `${tenant} is in ${mapped} ${up ? "(LookupService)" : "(LookupService down)"}. ${places.join(", ")}.`);

  function place(x, cluster, names) {
    const up = view.clusters[cluster]?.state === "up";
    box(svg, x + 1, top, side - 2, height - top - 2, up ? "cluster" : "cluster down");
    write(svg, x + 12 * scale, top + 20 * scale, up ? cluster : `${cluster} is ${view.clusters[cluster]?.state}`, "place");
    names.slice(0, most).forEach((name, index) => client(drawing, x + 12 * scale, top + 42 * scale + index * row, name, source.includes(name) && target.includes(name)));
    if (names.length > most) write(svg, x + 12 * scale, top + 42 * scale + most * row, `and ${names.length - most} more`, "quiet");
  }
}

const CHARACTER_WIDTH = 7;
const UNCONNECTED_SHOWN = 3;

/** Shortens a name to fit its place. */
function fitted(name, width, scale) {
  const room = Math.max(4, Math.floor(width / (CHARACTER_WIDTH * scale)));
  return name.length <= room ? name : `${name.slice(0, room - 1)}…`;
}

function arrow(svg, x1, y1, x2, y2, answers) {
  const path = svg.ownerDocument.createElementNS(NS, "path");
  const middle = (y1 + y2) / 2;
  path.setAttribute("d", `M ${x1} ${y1} C ${x1} ${middle}, ${x2} ${middle}, ${x2} ${y2 - 3} M ${x2 - 5} ${y2 - 10} L ${x2} ${y2 - 2} L ${x2 + 5} ${y2 - 10}`);
  path.setAttribute("class", answers ? "points" : "points broken");
  svg.append(path);
}

function box(svg, x, y, w, h, name) {
  const rect = svg.ownerDocument.createElementNS(NS, "rect");
  for (const [key, value] of Object.entries({ class: name, x, y, width: w, height: h, rx: 3 })) rect.setAttribute(key, String(value));
  svg.append(rect);
}

function line(svg, x1, y1, x2, y2, name) {
  const one_line = svg.ownerDocument.createElementNS(NS, "line");
  for (const [key, value] of Object.entries({ class: name, x1, y1, x2, y2 })) one_line.setAttribute(key, String(value));
  svg.append(one_line);
}

function write(svg, x, y, text, name, anchor = "start") {
  const node = svg.ownerDocument.createElementNS(NS, "text");
  for (const [key, value] of Object.entries({ class: name, x, y, "text-anchor": anchor })) node.setAttribute(key, String(value));
  node.textContent = text;
  svg.append(node);
}

function client({ svg, side, scale }, x, y, name, open, refused = false) {
  const dot = svg.ownerDocument.createElementNS(NS, "circle");
  for (const [key, value] of Object.entries({ class: `client${open ? " both" : ""}${refused ? " refused" : ""}`, cx: x + 4 * scale, cy: y - 4 * scale, r: 4 * scale })) dot.setAttribute(key, String(value));
  svg.append(dot);
  write(svg, x + 14 * scale, y, fitted(name, side - 34 * scale, scale), refused ? "name refused" : "name");
}

/** Draws a client without a broker beside the LookupService; after a refused lookup in the colour of harm with a broken line. */
function drawUnconnected(drawing, from_x, name, tries, y) {
  const { svg, scale } = drawing;
  const x = from_x + 10 * scale;
  if (tries) line(svg, from_x + 1, y - 4 * scale, x - 1, y - 4 * scale, "wire broken");
  client(drawing, x, y, tries > 1 ? `${name} ×${tries}` : name, true, tries > 0);
}

function link(svg, view, [left, right], here, there, y, forth) {
  const replicates = Object.values(view.clusters[here]?.topics ?? {}).filter(({ replicators }) => replicators?.[there]);
  if (!replicates.length) return;
  const works = view.links[`${here} -> ${there}`]?.state === "up" && replicates.every(({ replicators }) => replicators[there].state === "started");
  line(svg, left + 4, y, right - 4, y, works ? "wire" : "wire broken");
  const [tip, back] = forth ? [right - 4, right - 11] : [left + 4, left + 11];
  const head = svg.ownerDocument.createElementNS(NS, "path");
  head.setAttribute("d", `M ${back} ${y - 4} L ${tip} ${y} L ${back} ${y + 4}`);
  head.setAttribute("class", works ? "wire" : "wire broken");
  svg.append(head);
}

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
