/**
 * What stood at the instant of the latest failover: which messages were acknowledged anywhere and where the target's
 * cursor was. From it the lanes tell what *has come* twice from what *will*.
 */

import { acknowledgedIdentities } from "./standing.js";
import { indexOf } from "./positions.js";
import { clustersOf, topicView } from "./state.js";

/**
 * @param {import("./state.js").LabState} before the state just before the frame
 * @param {object[]} rows the frame's fresh rows
 * @param {object} frame
 * @returns {object | null} kept from before when no failover began in these rows
 */
export function standingAtFailover(before, rows, frame) {
  const row = rows.findLast((one) => one.type === "failover.started");
  if (!row) return before.moved;
  const topic = topicHolding(before.view ?? frame.view, row.subscription);
  if (!topic || !before.view) return afterJump(row, topic, rows, frame);
  const cursor = topicView(before, row.peer, topic)?.subscriptions?.[row.subscription];
  return {
    ...namesOf(row),
    topic,
    known: true,
    mark_delete_index: cursor?.mark_delete_index ?? -1,
    ranges: cursor?.ranges ?? [],
    acknowledged: acknowledgedIdentities(before, topic, row.subscription, clustersOf(before)),
    elsewhere: acknowledgedIdentities(before, topic, row.subscription, clustersOf(before).filter((cluster) => cluster !== row.peer)),
  };
}

/**
 * The page jumped over the instant (a seek, a late arrival). While the cluster that was left is down its cursor still stands as
 * it stood then, and the first move of the target's cursor in the rows says where that one was.
 */
function afterJump(row, topic, rows, frame) {
  const down = topic && frame.view.clusters[row.cluster]?.state !== "up";
  const later = rows.find((one) => one.seq > row.seq && one.cluster === row.peer && one.subscription === row.subscription && STARTS.includes(one.type));
  if (!down || !later) return { ...namesOf(row), topic, known: false };
  const ledgers = frame.view.clusters[row.peer].topics[topic].ledgers;
  const mark_delete_index = indexOf(ledgers, later);
  return { ...namesOf(row), topic, known: mark_delete_index !== null, mark_delete_index, ranges: [], acknowledged: null };
}

/** Rows that name where a cursor stood before its first move. */
const STARTS = ["cursor.moved", "subscription.created"];

const namesOf = (row) => ({ subscription: row.subscription, from: row.cluster, to: row.peer, mode: row.reason, at_us: row.at_us, seq: row.seq });

function topicHolding(view, subscription) {
  for (const cluster of Object.values(view?.clusters ?? {})) {
    for (const [topic, held] of Object.entries(cluster.topics ?? {})) if (held.subscriptions?.[subscription]) return topic;
  }
  return null;
}
