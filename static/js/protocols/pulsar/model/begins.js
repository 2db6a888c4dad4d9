/**
 * Where each cursor began: earlier entries were never due to its consumers, so that the cursor covers them is no
 * acknowledgement. Read from `subscription.created`.
 */

import { indexOf } from "./positions.js";

/**
 * @param {object[]} rows `subscription.created`, ascending seq
 * @param {object} view the frame's view, for its ledgers
 * @returns {Object<string, number>} by "cluster/topic/subscription"
 */
export function beginsOf(rows, view) {
  /** @type {Object<string, number>} */
  let next = {};
  for (const row of rows) {
    if (row.type !== "subscription.created") continue;
    const ledgers = view.clusters[row.cluster]?.topics?.[row.topic]?.ledgers ?? [];
    const index = indexOf(ledgers, row);
    if (index !== null) next = { ...next, [beginKey(row.cluster, row.topic, row.subscription)]: index };
  }
  return next;
}

/** @returns {string} */
export const beginKey = (cluster, topic, subscription) => `${cluster}/${topic}/${subscription}`;
