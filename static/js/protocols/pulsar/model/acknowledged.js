/** Tells whether a cursor covers an entry: everything up to the mark-delete, and ranges beyond it. */

/**
 * @param {{mark_delete_index: number, ranges: [number, number][]} | undefined} cursor
 * @param {number} index ordinal in the log
 */
export function isAcknowledged(cursor, index) {
  if (!cursor) return false;
  if (index <= cursor.mark_delete_index) return true;
  return inRanges(cursor.ranges, index);
}

/** @param {[number, number][]} ranges first and last entry, both included, in order */
export function inRanges(ranges, index) {
  let low = 0;
  let high = ranges.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (index < ranges[middle][0]) high = middle - 1;
    else if (index > ranges[middle][1]) low = middle + 1;
    else return true;
  }
  return false;
}

/**
 * Finds holes: unacked entries beyond the mark-delete and before later acknowledgements.
 * @returns {[number, number][]} gaps between the mark-delete and the last range, at most `limit`, as first and last entry
 */
export function gapsOf(cursor, limit = 8) {
  /** @type {[number, number][]} */
  const gaps = [];
  let next = cursor.mark_delete_index + 1;
  for (const [first, last] of cursor.ranges) {
    if (first > next) gaps.push([next, first - 1]);
    if (gaps.length >= limit) break;
    next = last + 1;
  }
  return gaps;
}
