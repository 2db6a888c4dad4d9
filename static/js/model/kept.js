/**
 * The rows that every page holds whatever it has watched: the newest of each class up to the instant shown. The classes come with the
 * server's welcome, so a page that followed the frames holds what a page that begins with a snapshot frame is given.
 *
 * @typedef {Object<string, {types: string[], most: number}>} Classes class to its event types and how many of its newest rows are held
 * @typedef {Object<string, object[]>} Kept class to its rows, ascending seq
 */

/** @param {{welcome: {rows?: {kept: Classes}} | null}} state @returns {Classes} none before the welcome */
export const classesOf = ({ welcome }) => welcome?.rows?.kept ?? {};

/** @param {Classes} classes @returns {Kept} */
export const nothingKept = (classes) => Object.fromEntries(Object.keys(classes).map((name) => [name, []]));

/**
 * @param {Kept} kept
 * @param {object[]} rows ascending seq; those known already are passed over
 * @param {Classes} classes
 * @returns {Kept} `kept` itself when nothing was new; a class without new rows keeps its list
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
