/**
 * Tenant migrations from a frame's view: the one shown, its steps as texts, its conditions, the commands possible now.
 * Pure. Every figure is the engine's.
 */

import { counted, seconds, whole } from "../../../model/format.js";

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
