/**
 * The state of each entry of a window for one subscription, as bits.
 * Cursors say what is acked in a cluster. The rest is as the engine names it, beside its forecast: duplicates and their causes, entries acked
 * elsewhere, lost, or not replicated. An entry that is not loaded, or about which a frame says nothing, is UNKNOWN and has no other state.
 */

import { markerKind, originOf } from "./cells.js";
import { inRanges, isAcknowledged } from "./acknowledged.js";
import { topicView } from "./topics.js";

export const ACKED = 1; // acked in this or in any other cluster
export const ACKED_HERE = 2; // acked by this cluster's own cursor
export const UNACKED = 4; // delivered to a consumer in this cluster, not acked
export const FORECAST_DUPLICATE = 8; // would be delivered in this cluster as a duplicate
export const DUPLICATE = 16; // was delivered in this cluster as a duplicate
export const NOT_REPLICATED = 32; // only in the cluster that failed
export const OWN_MARKER = 64; // a marker of one of the subject cluster's own snapshots
export const LOST = 256; // due to this cluster's consumers, and before the begin of its cursor, or covered by it without an ack
export const UNKNOWN = 512; // not loaded, or before the entries of which the frame names the state

/** @returns {{ranges: [number, number][], messages: number, causes: [number, number, Cause][], acked?: [number, number][], lost?: [number, number][], missing?: [number, number][], from?: number} | undefined} the marked entries of a log, as the engine names them */
const markedOf = (state, { topic, subscription }, cluster) => state.view.forecast?.[subscription]?.entries?.[cluster]?.[topic];

/**
 * @param {import("../../../model/state.js").LabState & import("./folds.js").PulsarState} state
 * @param {object} watched topic, subscription, subject (the cluster with the consumers), clusters (sorted)
 * @returns {(cluster: string, from: number, to: number) => Uint16Array} bits per entry of [from, to)
 */
export function makeEntryFlags(state, watched) {
  const { topic, subscription, subject, clusters } = watched;
  const over = (state.view.failovers ?? []).findLast((one) => one.subscription === subscription);
  const subject_number = clusters.indexOf(subject);

  return function flagsOf(cluster, from, to) {
    const bits = new Uint16Array(Math.max(0, to - from));
    const store = state.cells[`${cluster}/${topic}`];
    const cursor = topicView(state, cluster, topic)?.subscriptions?.[subscription];
    const first_kept = topicView(state, cluster, topic)?.first_kept ?? 0;
    for (let index = Math.max(from, first_kept); index < Math.min(to, store?.first ?? to); index++) bits[index - from] = isAcknowledged(cursor, index) ? ACKED_HERE | ACKED : UNKNOWN;
    if (!store) return bits;
    const held = new Set(Object.values(cursor?.consumers ?? {}).flatMap((consumer) => consumer.unacked ?? []));
    const { ranges = [], acked = [], lost = [], missing = [], from: named_from = 0 } = markedOf(state, watched, cluster) ?? {};
    const duplicates = (over?.to === cluster && over.entries?.[topic]?.duplicates) || [];
    for (let index = Math.max(from, store.first); index < Math.min(to, store.first + store.count); index++) {
      const at = index - store.first;
      let bit = (isAcknowledged(cursor, index) ? ACKED_HERE | ACKED : 0) | (held.has(index) ? UNACKED : 0);
      const kind = store.columns.kind[at];
      if (kind >= 100) bit |= isOwnMarker(state.owners, kind, store.columns.snapshot[at], subject_number) ? OWN_MARKER : 0;
      else {
        if (bit === 0 && index < named_from) bit = UNKNOWN;
        if (inRanges(ranges, index)) bit |= ACKED | FORECAST_DUPLICATE;
        if (inRanges(acked, index)) bit |= ACKED;
        if (inRanges(duplicates, index)) bit = (bit & ~FORECAST_DUPLICATE) | DUPLICATE;
        if (inRanges(missing, index)) bit |= NOT_REPLICATED;
        if (inRanges(lost, index)) bit = (bit & ~ACKED) | LOST;
      }
      bits[index - from] = bit;
    }
    return bits;
  };
}

/** Whether a marker belongs to the subject: to a snapshot that it requested, or written by it (an update names no snapshot). */
export function isOwnMarker(owners, kind, snapshot, subject_number) {
  if (markerKind(kind) === 113) return originOf(kind) === subject_number;
  const owner = owners.get(snapshot);
  return owner === undefined ? originOf(kind) === subject_number : owner === subject_number;
}

/** @typedef {"missing" | "local" | "unsynced" | "hole" | "update" | "snapshot"} Cause */
/** @typedef {{first: number, last: number, messages: number, cause: Cause}} Stretch */

/**
 * The forecast's duplicates in a window, by cause. They are drawn as brackets.
 * @param {Uint16Array} bits state of the entries [from, …)
 * @returns {Stretch[]} in log order; markers and entries that are no duplicates do not end one
 */
export function stretchesOf(state, watched, cluster, from, bits) {
  const store = state.cells[`${cluster}/${watched.topic}`];
  /** @type {Stretch[]} */
  const stretches = [];
  for (const [first, last, cause] of markedOf(state, watched, cluster)?.causes ?? []) {
    const inside = [];
    for (let index = Math.max(first, from, store?.first ?? last + 1); index <= Math.min(last, from + bits.length - 1); index++) if (bits[index - from] & FORECAST_DUPLICATE) inside.push(index);
    if (inside.length) stretches.push({ first: inside[0], last: inside[inside.length - 1], messages: inside.reduce((sum, index) => sum + Math.max(1, store.columns.size[index - store.first]), 0), cause });
  }
  return stretches;
}

/** Text under a bracket, by cause: in full, and where there is little room. @type {Object<string, (held: string | null) => [string, string]>} */
export const CAUSE_WORDS = {
  missing: () => ["subscription does not exist here yet", "no subscription"],
  local: () => ["progress is not replicated", "progress not replicated"],
  unsynced: () => ["acks not synced here yet", "acks not synced"],
  hole: (held) => (held ? [`behind ${held}, which is not acked`, `behind ${held}`] : ["behind a message that is not acked", "behind an unacked message"]),
  update: () => ["update in flight", "update in flight"],
  snapshot: () => ["acked after the last applied snapshot", "after the last snapshot"],
};
