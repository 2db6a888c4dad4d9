/**
 * The newest control rows up to the instant, as the page holds them: in order of seq, none missing between the first and the instant.
 * Older ones, and those that a branch has run beyond the instant, are asked of the server (`event_window.js`).
 */

/** Rows held: what a snapshot frame brings, so that it does not matter how the page came to the instant. */
export const ROWS_KEPT = 300;

/**
 * @param {object[]} kept ascending seq
 * @param {object[]} added ascending seq
 * @param {boolean} follows whether no row is missing between the two
 * @returns {object[]} a new list, or `kept` itself when nothing was new
 */
export function addRows(kept, added, follows = true) {
  if (!follows || added[0]?.seq < kept[0]?.seq) return added.slice(-ROWS_KEPT);
  const last_seq = kept.length ? kept[kept.length - 1].seq : -1;
  const fresh = added.filter((row) => row.seq > last_seq);
  if (fresh.length === 0) return kept;
  return kept.concat(fresh).slice(-ROWS_KEPT);
}
