/** Describes one entry of a log for display beside the pointer: "web/98, from us-west, 192:373, acknowledged". */

import { isAcknowledged } from "./acknowledged.js";
import { markerKind, originOf } from "./cells.js";
import { positionOf } from "./positions.js";
import { fullName } from "./snapshot_names.js";
import { topicView } from "./topics.js";

const MARKERS = { 110: "request", 111: "response", 112: "snapshot marker", 113: "update" };

/**
 * @param {import("../../../model/state.js").LabState & import("./folds.js").PulsarState} state
 * @param {object} watched
 * @param {{cluster: string, index: number}} thing
 * @returns {string}
 */
export function wordsOfThing(state, watched, { cluster, index }) {
  const store = state.cells[`${cluster}/${watched.topic}`];
  const topic = topicView(state, cluster, watched.topic);
  const at = index - (store?.first ?? 0);
  if (!store || !topic || at < 0 || at >= store.count) return "";
  const kind = store.columns.kind[at];
  const where = positionOf(topic.ledgers, index);
  const origin = watched.clusters[originOf(kind)];
  if (kind >= 100) {
    const snapshot = store.columns.snapshot[at];
    return [`${MARKERS[markerKind(kind)]}${snapshot >= 0 ? ` of ${fullName(state, snapshot)}` : ""}`, `written in ${origin}`, where].filter(Boolean).join(", ");
  }
  const cursor = topic.subscriptions?.[watched.subscription];
  const holder = Object.entries(cursor?.consumers ?? {}).find(([, consumer]) => consumer.unacked.includes(index));
  const ack_state = holder ? `delivered to ${holder[0]}, not acked` : isAcknowledged(cursor, index) ? "acknowledged here" : "not acknowledged here";
  const size = store.columns.size[at];
  return [`${state.names.list[store.columns.producer[at]]}/${store.columns.number[at]}`, size > 1 ? `${size} messages` : "", `from ${origin}`, where, cursor ? ack_state : ""].filter(Boolean).join(", ");
}
