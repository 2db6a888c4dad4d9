/**
 * Computes the state of each entry of a window for one subscription, as bits.
 * The bits distinguish acked, not acked, delivered but not acked, a duplicate after a failover, delivered as a duplicate, and not replicated
 * entries. An entry whose state depends on cells that the page has not loaded is UNKNOWN, and has no other state that could be false.
 * Numbers only; the renderer decides how they are drawn.
 */

import { identityOf, originOf, markerKind } from "./cells.js";
import { beginKey } from "./begins.js";
import { inRanges, isAcknowledged } from "./acknowledged.js";
import { passedOver } from "./passed_over.js";
import { movedOf } from "./moved.js";
import { topicView } from "./topics.js";

export const ACKED = 1; // acked in this or in any other cluster
export const ACKED_HERE = 2; // acked by this cluster's own cursor
export const UNACKED = 4; // delivered to a consumer in this cluster, not acked
export const FORECAST_DUPLICATE = 8; // would be delivered in this cluster as a duplicate
export const DUPLICATE = 16; // was delivered in this cluster as a duplicate
export const NOT_REPLICATED = 32; // only in the cluster that failed
export const OWN_MARKER = 64; // a marker of one of the subject cluster's own snapshots
export const UNKNOWN = 512; // not loaded, or whether it is acked or replicated depends on entries that are not loaded
export const LOST = 256; // due to this cluster's consumers, and before the begin of its cursor, or covered by it without an ack

/** Most ranges of forecast duplicates in a frame, the newest ones (`MARKED_RANGES_MAX` of forecasting.py). */
const RANGES_MAX = 200;

/** Number of entries per cluster that are searched for messages acked anywhere. */
const LOOKED_AT = 12_000;

/** @returns {Set<number>} identities of messages that the subscription's cursor in any cluster covers */
export function acknowledgedIdentities(state, topic, subscription, clusters) {
  const known = new Set();
  for (const cluster of clusters) {
    const store = state.cells[`${cluster}/${topic}`];
    const cursor = topicView(state, cluster, topic)?.subscriptions?.[subscription];
    if (!store || !cursor) continue;
    const begin = state.begins[beginKey(cluster, topic, subscription)] ?? -1;
    for (let at = Math.max(0, store.count - LOOKED_AT); at < store.count; at++) {
      if (store.columns.kind[at] < 100 && store.first + at > begin && isAcknowledged(cursor, store.first + at)) known.add(identityOf(store.columns, at));
    }
  }
  return known;
}

/** @returns {Set<number>} identities that are due to the cluster's consumers and not acked there */
function owedIdentities(state, topic, subscription, cluster) {
  const owed = new Set();
  const store = state.cells[`${cluster}/${topic}`];
  const cursor = topicView(state, cluster, topic)?.subscriptions?.[subscription];
  if (!store || !cursor) return owed;
  const begin = state.begins[beginKey(cluster, topic, subscription)] ?? -1;
  for (let at = 0; at < store.count; at++) {
    const index = store.first + at;
    if (store.columns.kind[at] < 100 && index > begin && !isAcknowledged(cursor, index)) owed.add(identityOf(store.columns, at));
  }
  return owed;
}

/**
 * Whether a log's entries that this page has not loaded may hold a message.
 * @param {boolean} acked only entries that the cluster's cursor covers count
 * @returns {(producer: number, number: number) => boolean} each producer's numbers are in order
 */
function mayHold(state, { topic, subscription }, cluster, acked) {
  const log = topicView(state, cluster, topic);
  const store = state.cells[`${cluster}/${topic}`];
  const first = store?.first ?? log?.length ?? 0;
  const first_kept = log?.first_kept ?? 0;
  const cursor = log?.subscriptions?.[subscription];
  const covered = cursor && (cursor.mark_delete_index >= first_kept || (cursor.ranges.length > 0 && cursor.ranges[0][0] < first));
  if (first <= first_kept || (acked && !covered)) return () => false;
  const lowest = new Map();
  for (let at = 0; at < (store?.count ?? 0); at++) {
    const { kind, producer, number } = store.columns;
    if (kind[at] < 100 && !(lowest.get(producer[at]) <= number[at])) lowest.set(producer[at], number[at]);
  }
  return (producer, number) => !(lowest.get(producer) <= number);
}

/** @returns {Set<number>} identities in a cluster's log, among its newest entries */
function identitiesIn(store) {
  const known = new Set();
  for (let at = Math.max(0, store.count - LOOKED_AT); at < store.count; at++) {
    if (store.columns.kind[at] < 100) known.add(identityOf(store.columns, at));
  }
  return known;
}

/**
 * @param {import("../../../model/state.js").LabState & import("./folds.js").PulsarState} state
 * @param {object} watched topic, subscription, subject (the cluster with the consumers), clusters (sorted)
 * @returns {(cluster: string, from: number, to: number) => Uint16Array} bits per entry of [from, to)
 */
export function makeEntryFlags(state, watched) {
  const { topic, subscription, subject, clusters } = watched;
  const anywhere = acknowledgedIdentities(state, topic, subscription, clusters);
  const moved = movedOf(state.view, topic, subscription);
  const others = (cluster) => acknowledgedIdentities(state, topic, subscription, clusters.filter((one) => one !== cluster));
  const passed = new Map(clusters.map((cluster) => [cluster, passedOver(state, watched, cluster, moved, others)]));
  for (const identities of passed.values()) for (const identity of identities) anywhere.delete(identity);
  const failed = moved && state.view.clusters[moved.from]?.state !== "up" ? moved.from : null;
  const target_store = failed ? state.cells[`${moved.to}/${topic}`] : undefined;
  const reached = target_store ? identitiesIn(target_store) : null;
  const missing_in_target = target_store ? mayHold(state, watched, moved.to, false) : () => false;
  const acked_unseen = new Map(clusters.map((cluster) => [cluster, mayHold(state, watched, cluster, true)]));
  const owed = moved ? owedIdentities(state, topic, subscription, moved.from) : null;
  const subject_number = clusters.indexOf(subject);
  const forecast = state.view.forecast?.[subscription];

  return function flagsOf(cluster, from, to) {
    const bits = new Uint16Array(Math.max(0, to - from));
    const store = state.cells[`${cluster}/${topic}`];
    const cursor = topicView(state, cluster, topic)?.subscriptions?.[subscription];
    const first_kept = topicView(state, cluster, topic)?.first_kept ?? 0;
    for (let index = Math.max(from, first_kept); index < Math.min(to, store?.first ?? to); index++) bits[index - from] = isAcknowledged(cursor, index) ? ACKED_HERE | ACKED : UNKNOWN;
    if (!store) return bits;
    const elsewhere = clusters.filter((one) => one !== cluster).map((one) => acked_unseen.get(one));
    const held = new Set(Object.values(cursor?.consumers ?? {}).flatMap((consumer) => consumer.unacked ?? []));
    const begin = state.begins[beginKey(cluster, topic, subscription)] ?? -1;
    // the engine names the entries that it forecasts as duplicates; a recorded run has no forecast
    const forecast_ranges = forecast?.from === subject ? forecast.entries?.[cluster]?.[topic]?.ranges : undefined;
    const { producer, number } = store.columns;
    const unseen = (at) => elsewhere.some((may_hold) => may_hold(producer[at], number[at]));
    const would_deliver = forecast_ranges === undefined && cluster !== subject && cursor !== undefined;
    for (let index = Math.max(from, store.first); index < Math.min(to, store.first + store.count); index++) {
      const at = index - store.first;
      const here = isAcknowledged(cursor, index);
      let bit = (here ? ACKED_HERE | ACKED : 0) | (held.has(index) ? UNACKED : 0);
      const kind = store.columns.kind[at];
      if (kind >= 100) {
        bits[index - from] = bit | (isOwnMarker(state.owners, kind, store.columns.snapshot[at], subject_number) ? OWN_MARKER : 0);
        continue;
      }
      const identity = identityOf(store.columns, at);
      const filtered = inRanges(cursor?.reported ?? [], index);
      if (forecast_ranges && cluster !== subject && !before(forecast_ranges, index)) {
        if (inRanges(forecast_ranges, index)) bit |= ACKED | FORECAST_DUPLICATE;
        else if (filtered && anywhere.has(identity)) bit |= ACKED;
        else if (filtered && unseen(at)) bit |= UNKNOWN;
      } else if (!here && anywhere.has(identity)) bit |= (would_deliver || (moved?.to === cluster && !held.has(index))) && !filtered ? ACKED | FORECAST_DUPLICATE : ACKED;
      else if (!here && !held.has(index) && unseen(at)) bit |= UNKNOWN;
      if (moved?.to === cluster && inRanges(moved.duplicates, index)) bit = (bit & ~FORECAST_DUPLICATE) | DUPLICATE;
      if (cluster === failed && reached && !reached.has(identity)) bit |= missing_in_target(producer[at], number[at]) ? UNKNOWN : NOT_REPLICATED;
      if (passed.get(cluster).has(identity)) bit = (bit & ~ACKED) | LOST;
      if (moved?.to === cluster && index <= begin && owed.has(identity) && !anywhere.has(identity)) bit = (bit & ~ACKED) | LOST;
      bits[index - from] = bit;
    }
    return bits;
  };
}

/** Whether an entry is before the newest ranges, which are all that a frame has. */
const before = (ranges, index) => ranges.length >= RANGES_MAX && index < ranges[0][0];

/** Whether a marker belongs to the subject: to a snapshot that it requested, or written by it (an update names no snapshot). */
export function isOwnMarker(owners, kind, snapshot, subject_number) {
  if (markerKind(kind) === 113) return originOf(kind) === subject_number;
  const owner = owners.get(snapshot);
  return owner === undefined ? originOf(kind) === subject_number : owner === subject_number;
}
