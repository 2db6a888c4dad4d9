/**
 * Consequences of commands that depend on the present state: affected clients, lost messages, forecast of a failover now.
 * Figures are the engine's own. Nothing is estimated here.
 */

import { counted } from "../../../model/format.js";
import { topicView } from "./topics.js";

/** @type {Object<string, (declared: string, command: object, state: import("../../../model/state.js").LabState, watched: object) => string[]>} */
export const LIVE_CONSEQUENCES = {
  "cluster.crash": (declared, { cluster, clients }, state, watched) => [
    declared,
    clients === false ? "" : consumersLost(cluster, state, watched),
    snapshotsStop(cluster, state, watched),
    forecastWords(cluster, state, watched),
  ],
  "cluster.lose": (declared, { cluster }, state, watched) => [declared, consumersLost(cluster, state, watched), forecastWords(cluster, state, watched)],
  "link.cut": (declared, _, state, watched) => [declared, snapshotsNeedAll(state, watched)],
  "client.kill": (declared, { client }, state, watched) => [declared, unackedOf(client, state, watched)],
  "subscription.fail-over": (declared, { from, to, mode }, state, watched) => [declared, mode === undefined || mode === "crash" ? forecastWords(from, state, watched, to) : ""],
  "subscription.clear": (declared, { subscription, cluster }, state, watched) => {
    const backlog = topicView(state, cluster, watched.topic)?.subscriptions?.[subscription]?.backlog ?? 0;
    return [subscription && cluster ? `${counted(backlog, "entry", "entries")} of ${subscription} in ${cluster} are skipped without being read.` : declared];
  },
  "replication.clear": (declared, { cluster, topic, to }, state) => {
    const backlog = topicView(state, cluster, topic)?.replicators?.[to]?.backlog;
    return [declared, backlog === undefined ? "" : `${counted(backlog, "entry", "entries")}, markers and messages of other regions among them.`];
  },
  "migration.advance": (declared, { tenant }, state) => [declared, costWords(tenant, state)],
  "migration.switch": (declared, { tenant }, state) => [declared, costWords(tenant, state)],
  // compares two arguments, which a declared text cannot do
  "namespace.set-clusters": (declared, { cluster, clusters }) => [declared, cluster && clusters && ![clusters].flat().includes(cluster) ? `${cluster} is not in the list: its topics are deleted.` : ""],
};

function consumersOf(cluster, state, watched) {
  return Object.entries(topicView(state, cluster, watched.topic)?.subscriptions?.[watched.subscription]?.consumers ?? {});
}

function consumersLost(cluster, state, watched) {
  const consumers = consumersOf(cluster, state, watched);
  if (consumers.length === 0) return "";
  const held = consumers.reduce((sum, [, one]) => sum + one.unacked.length + one.queued, 0);
  const names = consumers.map(([name]) => name);
  const who = `${names.slice(0, 3).join(", ")}${names.length > 3 ? " and others" : ""}`;
  return `${who} ${names.length === 1 ? "is" : "are"} killed with it, with ${counted(held, "message")} unacked or queued.`;
}

function unackedOf(client, state, watched) {
  const found = watched.clusters.flatMap((cluster) => consumersOf(cluster, state, watched)).find(([name]) => name === client)?.[1];
  return found ? `${counted(found.unacked.length + found.queued, "message")} that it had received go to other consumers or wait.` : "";
}

function snapshotsNeedAll(state, watched) {
  return watched.clusters.length > 1 && watched.subscription ? "One missing connection stops all snapshots of the topic." : "";
}

function snapshotsStop(cluster, state, watched) {
  return watched.clusters.includes(cluster) ? snapshotsNeedAll(state, watched) : "";
}

function costWords(tenant, state) {
  const run = (state.view?.migrations ?? []).findLast((one) => one.tenant === tenant);
  const cost = run?.cost?.sum;
  if (!cost || run.switched_at_us !== null) return "";
  return `At this instant: ${counted(cost.duplicates, "duplicate")}, ${cost.stranded} not copied yet, ${cost.lost} lost.`;
}

function forecastWords(from, state, watched, to = watched.target) {
  const figures = state.view?.forecast?.[watched.subscription];
  const one = figures && figures.from === from ? figures.to[to] : null;
  if (!one) return "";
  return `If ${watched.subscription} then moved to ${to}: ${counted(one.duplicates, "duplicate")}, ${one.stranded} not replicated, ${one.lost} lost.`;
}
