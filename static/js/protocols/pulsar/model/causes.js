/**
 * Finds why entries of a remote's log would be duplicates, as stretches with one cause each.
 * An unacked message holds the mark-delete back, an update is in flight, or no completed snapshot covers the entries yet. The stretches are
 * drawn as brackets. Which entries these are, the engine's forecast decides (`entry_flags.js`), so brackets and headline have one source.
 */

import { FORECAST_DUPLICATE } from "./entry_flags.js";
import { identityOf } from "./cells.js";
import { indexOf } from "./positions.js";
import { topicView } from "./topics.js";

/** @typedef {{first: number, last: number, messages: number, cause: "missing" | "local" | "unsynced" | "hole" | "update" | "snapshot"}} Stretch */

/**
 * @param {import("../../../model/state.js").LabState & import("./folds.js").PulsarState} state
 * @param {object} watched
 * @param {string} cluster the remote cluster
 * @param {number} from first index of `bits`
 * @param {Uint8Array} bits state of the entries [from, …)
 * @returns {Stretch[]} in log order
 */
export function stretchesOf(state, watched, cluster, from, bits) {
  const store = state.cells[`${cluster}/${watched.topic}`];
  const cause = causeFinder(state, watched, cluster);
  /** @type {Stretch[]} */
  const stretches = [];
  let open = null;
  for (let at = 0; at < bits.length; at++) {
    const index = from + at;
    const in_store = store && index >= store.first && index < store.first + store.count;
    if (!in_store || store.columns.kind[index - store.first] >= 100) continue; // a marker does not end a stretch
    if (!(bits[at] & FORECAST_DUPLICATE)) continue; // not acked in any cluster: it would be delivered once, and does not end a stretch
    const why = cause(store, index);
    if (!open || open.cause !== why) {
      open = { first: index, last: index, messages: 0, cause: why };
      stretches.push(open);
    }
    open.last = index;
    open.messages += Math.max(1, store.columns.size[index - store.first]);
  }
  return stretches;
}

/** @returns {(store?: import("./cells.js").CellStore, index?: number) => Stretch["cause"]} */
function causeFinder(state, watched, cluster) {
  if (!topicView(state, cluster, watched.topic)?.subscriptions?.[watched.subscription]) return () => "missing";
  const subject = topicView(state, watched.subject, watched.topic);
  const subject_store = state.cells[`${watched.subject}/${watched.topic}`];
  const cursor = subject?.subscriptions?.[watched.subscription];
  if (cursor && !cursor.replicated) return cursor.synchronised ? () => "unsynced" : () => "local";
  const beyond = cursor && subject_store ? identitiesBeyond(subject_store, cursor.mark_delete_index) : new Set();
  const updated_to = updateOnItsWay(state, watched, cluster);
  return (store, index) => {
    if (index <= updated_to) return "update";
    if (cursor?.synchronised) return "unsynced";
    return beyond.has(identityOf(store.columns, index - store.first)) ? "hole" : "snapshot";
  };
}

function identitiesBeyond(store, mark_delete_index) {
  const known = new Set();
  for (let at = Math.max(0, mark_delete_index + 1 - store.first); at < store.count; at++) {
    if (store.columns.kind[at] < 100) known.add(identityOf(store.columns, at));
  }
  return known;
}

/** @returns {number} the furthest index in this cluster that a used snapshot contains; else -1 */
function updateOnItsWay(state, watched, cluster) {
  const topic = topicView(state, cluster, watched.topic);
  let furthest = -1;
  for (const snapshot of state.snapshots.values()) {
    if (snapshot.cluster !== watched.subject || snapshot.topic !== watched.topic) continue;
    if (snapshot.kept[watched.subscription]?.state !== "used" || !snapshot.positions[cluster]) continue;
    furthest = Math.max(furthest, indexOf(topic?.ledgers ?? [], snapshot.positions[cluster]) ?? -1);
  }
  return furthest;
}

/** Text under a bracket, by cause. */
export const CAUSE_WORDS = {
  missing: () => "subscription does not exist here yet",
  local: () => "progress is not replicated",
  unsynced: () => "acks not synced here yet",
  hole: (held) => (held ? `behind ${held}, which is not acked` : "behind a message that is not acked"),
  update: () => "update in flight",
  snapshot: () => "acked after the last applied snapshot",
};
