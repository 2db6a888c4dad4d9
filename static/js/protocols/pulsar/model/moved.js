/**
 * The latest failover of a subscription, for the lanes: the target's cursor at that instant, and the duplicates since.
 * Both are part of the view, so they do not depend on what this page has shown before.
 */

/**
 * @typedef {object} Moved
 * @property {string} from
 * @property {string} to
 * @property {number} mark_delete_index of the target's cursor at the failover; -1 if the subscription did not exist there
 * @property {[number, number][]} ranges individually acked there at the failover
 * @property {[number, number][]} duplicates entries of the target's log with duplicates so far
 */

/**
 * @param {object | null} view
 * @param {string} topic
 * @param {string} subscription
 * @returns {Moved | null} null when there was none, or when the target does not have the topic
 */
export function movedOf(view, topic, subscription) {
  const over = (view?.failovers ?? []).findLast((one) => one.subscription === subscription);
  if (!over || !view.clusters[over.to]?.topics?.[topic]) return null;
  return { from: over.from, to: over.to, mark_delete_index: -1, ranges: [], duplicates: [], ...over.entries?.[topic] };
}
