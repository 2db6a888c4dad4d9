/**
 * Reads what `visualizer/live/packing.py` writes: columns of whole numbers as differences with equal ones folded, and tables of them.
 * Rules: lengths are bounded before anything is made of them; what does not keep to the format is refused, never guessed at.
 */

import { WireError } from "./error.js";

/** More values than any column of a frame or answer has. */
const LONGEST_COLUMN = 100_000;

/**
 * @param {(number | null | [number | null, number])[]} packed differences; `[d, n]` is d n times; null is "no value"
 * @param {string} what the column's name, for the message
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
 * @param {string} what the table's name, for the message
 * @returns {object[]} one object a row, without the columns that have no value there
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
