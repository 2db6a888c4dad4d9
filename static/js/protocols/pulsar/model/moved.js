/**
 * The latest failover of a subscription as the lanes mark it: where the target's cursor stood then, and which entries of the target's log
 * have brought duplicates since. Both come with the view, so they do not depend on what this page has watched.
 */

/**
 * @typedef {object} Moved
 * @property {string} from
 * @property {string} to
 * @property {number} mark_delete_index of the target's cursor at the failover; -1 where the subscription did not exist there
 * @property {[number, number][]} ranges individually acknowledged there at the failover
 * @property {[number, number][]} duplicates entries of the target's log that held duplicates so far
 */

/**
 * @param {object | null} view
 * @param {string} topic
 * @param {string} subscription
 * @returns {Moved | null} null when there was none, or the target has no such topic
 */
export function movedOf(view, topic, subscription) {
  const over = (view?.failovers ?? []).findLast((one) => one.subscription === subscription);
  if (!over || !view.clusters[over.to]?.topics?.[topic]) return null;
  return { from: over.from, to: over.to, mark_delete_index: -1, ranges: [], duplicates: [], ...over.entries?.[topic] };
}
