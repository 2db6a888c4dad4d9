/**
 * Computes the threads of snapshots: a snapshot's position in each lane that it contains, connected from lane to lane. Numbers only.
 */

import { indexOf } from "../model/positions.js";
import { topicView } from "../model/topics.js";

/** Most threads that are drawn at once; more would hide the lanes. */
const THREADS_DRAWN = 7;

/**
 * @typedef {object} Thread
 * @property {number} snapshot
 * @property {"applied" | "used" | "ready" | "finished" | "building" | "timed-out" | "evicted"} state used: not every cluster has applied the update; finished: not yet read by the dispatcher
 * @property {Object<string, number>} index by cluster: the last entry that it covers
 * @property {boolean} decided whether it is the newest used one, which the last update carried
 */

/**
 * @param {import("../../../model/state.js").LabState & import("../model/folds.js").PulsarState} state
 * @param {object} watched
 * @returns {Thread[]} the newest applied one, a newer used one, the ready ones, those being built, the newest failed one
 */
export function threadsOf(state, watched) {
  const topic = topicView(state, watched.subject, watched.topic);
  const pending = new Map((topic?.controller?.pending ?? []).map((one) => [one.snapshot, one]));
  const cached = new Set((topic?.subscriptions?.[watched.subscription]?.cache ?? []).map((one) => one.snapshot));
  const groups = { applied: [], used: [], ready: [], finished: [], building: [], "timed-out": [], evicted: [] };
  const own_snapshots = [...state.snapshots.values()].filter((one) => one.cluster === watched.subject && one.topic === watched.topic);
  const newest_used = Math.max(0, ...own_snapshots.filter((one) => one.kept[watched.subscription]?.state === "used").map((one) => one.number));
  for (const snapshot of own_snapshots) {
    const word = stateOf(snapshot, watched.subscription, { pending, cached, newest_used });
    if (!word) continue;
    const thread = toThread(state, watched, snapshot, word, pending.get(snapshot.number));
    if (word === "used" && isApplied(state, watched, thread)) thread.state = "applied";
    thread.decided = word === "used" && snapshot.number === newest_used;
    groups[thread.state].push(thread);
  }
  const newest = (word, count) => groups[word].sort((a, b) => b.snapshot - a.snapshot).slice(0, count);
  return [...newest("applied", 1), ...newest("used", 1).filter((thread) => thread.snapshot > (groups.applied[0]?.snapshot ?? 0)), ...newest("building", 2), ...newest("ready", 2), ...newest("finished", 1), ...newest("timed-out", 1), ...newest("evicted", 1)]
    .filter((thread) => Object.keys(thread.index).length > 0)
    .slice(0, THREADS_DRAWN);
}

function stateOf(snapshot, subscription, { pending, cached, newest_used }) {
  const kept = snapshot.kept[subscription];
  if (kept?.state === "used") return "used";
  if (snapshot.state === "pending") return pending.has(snapshot.number) ? "building" : null;
  if (snapshot.state === "timed-out" || snapshot.state === "abandoned") return "timed-out";
  if (cached.has(snapshot.number)) return "ready";
  if (snapshot.number < newest_used) return null; // a newer one was used, so this one will not be
  if (!kept) return "finished";
  return kept.state === "evicted" && kept.reason === "cache-rule" ? "evicted" : null;
}

/** Whether the cursor of every cluster in the snapshot has reached its position. */
function isApplied(state, watched, thread) {
  return Object.entries(thread.index).every(([cluster, index]) => {
    const cursor = topicView(state, cluster, watched.topic)?.subscriptions?.[watched.subscription];
    return cursor !== undefined && cursor.mark_delete_index >= index;
  });
}

function toThread(state, watched, snapshot, word, pending) {
  const index = {};
  const positions = { ...snapshot.positions };
  if (snapshot.local) positions[snapshot.cluster] = snapshot.local;
  for (const [cluster, text] of Object.entries(pending?.answers ?? {})) {
    const [ledger, entry] = String(text).split(":").map(Number);
    if (Number.isFinite(entry)) positions[cluster] = { ledger, entry };
  }
  for (const [cluster, position] of Object.entries(positions)) {
    const at = indexOf(topicView(state, cluster, watched.topic)?.ledgers ?? [], position);
    if (at !== null) index[cluster] = at;
  }
  return { snapshot: snapshot.number, state: word, index, decided: false };
}
