/**
 * The rows that every page holds whatever it has watched: the newest of each class up to the instant shown. `visualizer/live/kept.py` has the same
 * table, so a page that followed the frames holds what a page that begins with a snapshot frame is given.
 */

/** Class to its event types and how many of its newest rows are held. */
export const KEPT = {
  snapshots: {
    types: new Set(["snapshot.requested", "snapshot.answered", "snapshot.completed", "snapshot.position", "snapshot.timed-out", "snapshot.abandoned", "snapshot.cached", "snapshot.used", "snapshot.evicted"]),
    most: 400,
  },
  created: { types: new Set(["subscription.created"]), most: 100 },
  held: { types: new Set(["message.held"]), most: 200 },
  rounds: { types: new Set(["leader.round"]), most: 60 },
  commands: { types: new Set(["command.applied"]), most: 10 },
};

/** @typedef {Object<string, object[]>} Kept class to its rows, ascending seq */

/** @returns {Kept} */
export const nothingKept = () => Object.fromEntries(Object.keys(KEPT).map((name) => [name, []]));

/**
 * @param {Kept} kept
 * @param {object[]} rows ascending seq; those known already are passed over
 * @returns {Kept} `kept` itself when nothing was new; a class without new rows keeps its list
 */
export function addKept(kept, rows) {
  let next = kept;
  for (const [name, { types, most }] of Object.entries(KEPT)) {
    const last_seq = kept[name].at(-1)?.seq ?? -1;
    const fresh = rows.filter((row) => row.seq > last_seq && types.has(row.type));
    if (fresh.length) next = { ...next, [name]: [...kept[name], ...fresh].slice(-most) };
  }
  return next;
}
