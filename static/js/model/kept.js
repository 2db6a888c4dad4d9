/**
 * The rows that every page holds whatever it has shown: the newest of each class up to the instant shown.
 * The server's welcome declares the classes. A page that received all frames therefore holds the same rows as one that begins with a
 * snapshot frame.
 *
 * @typedef {Object<string, {types: string[], most: number}>} Classes class to its event types and the number of its newest rows that are held
 * @typedef {Object<string, object[]>} Kept class to its rows, by ascending seq
 */

/** @param {{welcome: {rows?: {kept: Classes}} | null}} state @returns {Classes} none before the welcome */
export const classesOf = ({ welcome }) => welcome?.rows?.kept ?? {};

/** @param {Classes} classes @returns {Kept} */
export const nothingKept = (classes) => Object.fromEntries(Object.keys(classes).map((name) => [name, []]));

/**
 * @param {Kept} kept
 * @param {object[]} rows by ascending seq; those already held are skipped
 * @param {Classes} classes
 * @returns {Kept} `kept` itself when no row was new; a class without new rows keeps its list
 */
export function addKept(kept, rows, classes) {
  let next = kept;
  for (const [name, { types, most }] of Object.entries(classes)) {
    const last_seq = kept[name].at(-1)?.seq ?? -1;
    const fresh = rows.filter((row) => row.seq > last_seq && types.includes(row.type));
    if (fresh.length) next = { ...next, [name]: [...kept[name], ...fresh].slice(-most) };
  }
  return next;
}
