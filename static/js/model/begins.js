/**
 * Where each cursor began: what lies before it was never owed to its consumers, so the cursor's covering it is no
 * acknowledgement. Folded from `subscription.created`.
 */

import { indexOf } from "./positions.js";

/**
 * @param {Object<string, number>} begins by "cluster/topic/subscription"
 * @param {object[]} rows rows not folded before
 * @param {object} view the frame's view, for its ledgers
 */
export function foldBegins(begins, rows, view) {
  let next = begins;
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
