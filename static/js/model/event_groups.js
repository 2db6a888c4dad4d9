/**
 * Groups the rows of the event list: rows that a protocol assigns to one thing, such as a snapshot, are listed together under its heading.
 * The group with the newest row comes first. Rows without a group stay where their time puts them.
 */

import { PROTOCOLS } from "../protocols/table.js";
import { foldedRuns } from "./row_runs.js";

/** @typedef {{key: string | null, lines: {row: any, times: number}[]}} EventGroup lines newest first; key null: rows without a group */

const groupOf = (row) => PROTOCOLS.map((protocol) => protocol.groupOfRow?.(row)).find(Boolean) ?? null;

/**
 * @param {object[]} rows by ascending seq
 * @param {number} most lines, headings included
 * @param {boolean} newest whether the newest lines are kept, or else the oldest
 * @returns {EventGroup[]} the group with the newest row first
 */
export function groupedRows(rows, most, newest) {
  /** @type {Map<string, object[]>} */
  const members = new Map();
  for (const row of rows) {
    const key = groupOf(row);
    if (key === null) continue;
    if (members.has(key)) members.get(key).push(row);
    else members.set(key, [row]);
  }
  /** @type {{key: string | null, rows: object[]}[]} */
  const groups = []; // by ascending seq of the newest row
  for (const row of rows) {
    const key = groupOf(row);
    if (key === null) {
      if (groups.at(-1)?.key === null) groups.at(-1).rows.push(row);
      else groups.push({ key, rows: [row] });
    } else if (members.get(key).at(-1) === row) groups.push({ key, rows: members.get(key) });
  }
  const folded = groups.map((group) => ({ key: group.key, lines: foldedRuns(group.rows).reverse() })).reverse();
  return newest ? cut(folded, most) : cut(folded.reverse(), most).reverse();
}

/** The first groups that have at most so many lines together. */
function cut(groups, most) {
  let left = most;
  const kept = [];
  for (const { key, lines } of groups) {
    const room = left - (key === null ? 0 : 1);
    if (room <= 0) break;
    kept.push({ key, lines: lines.slice(0, room) });
    left = room - lines.length;
  }
  return kept;
}
