/**
 * Unpacks what `visualizer/live/packing.py` writes: run-length encoded differences of whole numbers, and tables of such columns.
 * Rules: lengths are checked before anything is allocated; input that breaks the format is refused.
 */

import { WireError } from "./error.js";

/** Upper limit of the length of a column in a frame or answer. */
const LONGEST_COLUMN = 100_000;

/**
 * @param {(number | null | [number | null, number])[]} packed differences; `[d, n]` is d repeated n times; null is "no value"
 * @param {string} what the column's name, for the error
 * @returns {(number | null)[]}
 */
export function unpacked(packed, what) {
  if (!Array.isArray(packed)) throw new WireError(`The server sent “${what}”, which is not a column.`);
  const values = [];
  let last = 0;
  for (const item of packed) {
    const [difference, times] = Array.isArray(item) ? item : [item, 1];
    const fits = (difference === null || Number.isInteger(difference)) && Number.isInteger(times) && times > 0;
    if (!fits || values.length + times > LONGEST_COLUMN) throw new WireError(`The server sent “${what}”, a column with ${JSON.stringify(item)} in it.`);
    for (let n = 0; n < times; n++) values.push(difference === null ? null : (last += difference));
  }
  return values;
}

/**
 * @param {{count: number, names: string[], texts: string[], columns: Object<string, any[]>}} table
 * @param {string} what the table's name, for the error
 * @returns {object[]} one object per row, without the columns that have no value in it
 */
export function rowsOf(table, what) {
  if (!Number.isInteger(table?.count) || table.count < 0 || table.count > LONGEST_COLUMN) throw new WireError(`The server sent “${what}”, which is not a table.`);
  const rows = Array.from({ length: table.count }, () => ({}));
  for (const [name, packed] of Object.entries(table.columns)) {
    const values = unpacked(packed, `${what}.${name}`);
    if (values.length > rows.length) throw new WireError(`The server sent “${what}” with ${rows.length} rows and ${values.length} of “${name}”.`);
    const is_text = table.texts.includes(name);
    values.forEach((value, at) => {
      if (value !== null) rows[at][name] = is_text ? table.names[value] : value;
    });
  }
  return rows;
}
