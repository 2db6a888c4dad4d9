/**
 * Rows of a list with their repetitions folded: rows that say the same again, as their protocol declares it, are one line with a
 * count.
 */

import { PROTOCOLS } from "../protocols/table.js";

const repeatOf = (row) => PROTOCOLS.map((protocol) => protocol.repeatOf?.(row)).find(Boolean);

/** How many lines back a repetition is looked for; other clusters' rows may be in between. */
const LOOKED_BACK = 4;

/**
 * @param {object[]} rows ascending seq
 * @returns {{row: object, times: number}[]} ascending; a run is shown as its newest row
 */
export function foldedRuns(rows) {
  const lines = [];
  for (const row of rows) {
    const key = repeatOf(row);
    const full_key = key ? `${row.type}|${key}` : null;
    const at = full_key === null ? -1 : lines.findLastIndex((line, index) => index >= lines.length - LOOKED_BACK && line.key === full_key);
    if (at >= 0) {
      const [line] = lines.splice(at, 1);
      lines.push({ row, times: line.times + 1, key: full_key });
    } else lines.push({ row, times: 1, key: full_key });
  }
  return lines;
}
