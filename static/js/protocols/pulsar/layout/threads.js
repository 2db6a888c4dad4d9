/**
 * What a snapshot ties together, as one thread: a place in each lane it knows, drawn lane by lane. Numbers only.
 */

import { indexOf } from "../model/positions.js";
import { topicView } from "../model/topics.js";

/** Threads drawn at once; more is a curtain. */
const THREADS_DRAWN = 7;

/**
 * @typedef {object} Thread
 * @property {number} snapshot
 * @property {"applied" | "used" | "ready" | "finished" | "building" | "timed-out" | "evicted"} state used: the update has not arrived everywhere; finished: not read by the dispatcher yet
 * @property {Object<string, number>} index by cluster: the last entry included
 * @property {boolean} decided the newest that was used: the one of the last update
 */

/**
 * @param {import("../../../model/state.js").LabState & import("../model/folds.js").PulsarState} state
 * @param {object} watched
 * @returns {Thread[]} the newest applied one, a newer used one, those ready, those being built, the newest that failed
 */
export function threadsOf(state, watched) {
  const topic = topicView(state, watched.subject, watched.topic);
  const pending = new Map((topic?.controller?.pending ?? []).map((one) => [one.snapshot, one]));
  const cached = new Set((topic?.subscriptions?.[watched.subscription]?.cache ?? []).map((one) => one.snapshot));
  const groups = { applied: [], used: [], ready: [], finished: [], building: [], "timed-out": [], evicted: [] };
  const ours = [...state.snapshots.values()].filter((one) => one.cluster === watched.subject && one.topic === watched.topic);
  const newest_used = Math.max(0, ...ours.filter((one) => one.kept[watched.subscription]?.state === "used").map((one) => one.number));
  for (const snapshot of ours) {
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
  if (snapshot.number < newest_used) return null; // a newer one was used: nothing waits for it any more
  if (!kept) return "finished";
  return kept.state === "evicted" && kept.reason === "cache-rule" ? "evicted" : null;
}

/** Every cluster that the snapshot names has moved its cursor as far. */
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
