/**
 * Finds the position at which each cursor began, from `subscription.created`.
 * Earlier entries were never due to its consumers, so that the cursor covers them does not mean that they were acked.
 */

import { indexOf } from "./positions.js";

/**
 * @param {object[]} rows `subscription.created`, by ascending seq
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
