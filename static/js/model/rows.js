/** The rows of the trace that the page keeps for its event list: in order of seq, no row twice, the oldest let go. */

/** Rows kept; the list asks the server for older ones by seq. */
export const ROWS_KEPT = 1500;

/**
 * @param {object[]} kept ascending seq
 * @param {object[]} added ascending seq
 * @returns {object[]} a new list, or `kept` itself when nothing was new
 */
export function addRows(kept, added) {
  if (!added || added.length === 0) return kept;
  const last_seq = kept.length ? kept[kept.length - 1].seq : -1;
  const fresh = added.filter((row) => row.seq > last_seq);
  if (fresh.length === 0) return kept;
  const all = kept.concat(fresh);
  return all.length > ROWS_KEPT ? all.slice(all.length - ROWS_KEPT) : all;
}

/**
 * Rows that the page knows of this branch and that lie after the instant it shows now.
 * @param {object[]} known ascending seq
 * @param {number} seq rows from here on have not happened yet at this instant
 */
export function rowsAhead(known, seq) {
  if (known.length === 0 || known[known.length - 1].seq < seq) return [];
  return known[0].seq >= seq ? known : known.filter((row) => row.seq >= seq);
}
