/**
 * The newest control rows up to the instant shown, in order of seq, without gaps.
 * Older rows, and rows after the instant on a branch that was simulated further, are requested from the server (`event_window.js`).
 */

/** Number of rows held. A snapshot frame contains as many, so the list does not depend on how the page got to the instant. */
export const ROWS_KEPT = 300;

/**
 * @param {object[]} kept by ascending seq
 * @param {object[]} added by ascending seq
 * @param {boolean} follows whether no row is missing between the two lists
 * @returns {object[]} a new list, or `kept` itself when no row was new
 */
export function addRows(kept, added, follows = true) {
  if (!follows || added[0]?.seq < kept[0]?.seq) return added.slice(-ROWS_KEPT);
  const last_seq = kept.length ? kept[kept.length - 1].seq : -1;
  const fresh = added.filter((row) => row.seq > last_seq);
  if (fresh.length === 0) return kept;
  return kept.concat(fresh).slice(-ROWS_KEPT);
}
