/**
 * Folds repeated rows of a list: rows that their protocol declares as repetitions become one line with a count.
 */

import { PROTOCOLS } from "../protocols/table.js";

const repeatOf = (row) => PROTOCOLS.map((protocol) => protocol.repeatOf?.(row)).find(Boolean);

/** How many lines back a repetition is searched; rows of other clusters may be in between. */
const LOOKED_BACK = 4;

/**
 * @param {object[]} rows by ascending seq
 * @returns {{row: object, times: number}[]} in ascending order; repeated rows are represented by the newest one
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
