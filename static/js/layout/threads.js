/**
 * What a snapshot ties together, as one thread: a place in each lane it knows, drawn lane by lane. Numbers only.
 */

import { indexOf } from "../model/positions.js";
import { topicView } from "../model/state.js";

/** Threads drawn at once; more is a curtain. */
export const THREADS_DRAWN = 5;

/**
 * @typedef {object} Thread
 * @property {number} snapshot
 * @property {"used" | "ready" | "building" | "timed-out" | "evicted"} state
 * @property {Object<string, number>} index by cluster: the last entry included
 */

/**
 * @param {import("../model/state.js").LabState} state
 * @param {object} watched
 * @returns {Thread[]} the newest used one, those ready, those being built, the newest that failed
 */
export function threadsOf(state, watched) {
  const topic = topicView(state, watched.subject, watched.topic);
  const pending = new Map((topic?.controller?.pending ?? []).map((one) => [one.snapshot, one]));
  const cached = new Set((topic?.subscriptions?.[watched.subscription]?.cache ?? []).map((one) => one.snapshot));
  const groups = { used: [], ready: [], building: [], "timed-out": [], evicted: [] };
  for (const snapshot of state.snapshots.values()) {
    if (snapshot.cluster !== watched.subject || snapshot.topic !== watched.topic) continue;
    const word = stateOf(snapshot, watched.subscription, pending, cached);
    if (word) groups[word].push(toThread(state, watched, snapshot, word, pending.get(snapshot.number)));
  }
  const newest = (word, count) => groups[word].sort((a, b) => b.snapshot - a.snapshot).slice(0, count);
  return [...newest("used", 1), ...newest("building", 2), ...newest("ready", 2), ...newest("timed-out", 1), ...newest("evicted", 1)]
    .filter((thread) => Object.keys(thread.index).length > 0)
    .slice(0, THREADS_DRAWN);
}

function stateOf(snapshot, subscription, pending, cached) {
  const kept = snapshot.kept[subscription];
  if (kept?.state === "used") return "used";
  if (snapshot.state === "pending") return pending.has(snapshot.number) ? "building" : null;
  if (snapshot.state === "timed-out" || snapshot.state === "abandoned") return "timed-out";
  if (cached.has(snapshot.number) || !kept) return "ready";
  return kept.state === "evicted" ? "evicted" : "ready";
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
  return { snapshot: snapshot.number, state: word, index };
}
