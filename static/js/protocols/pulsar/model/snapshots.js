/**
 * Folds control rows to the state of each snapshot: requested, answered, completed, cached, used, timed out.
 * Rules: a fold is a value, copied when a row changes it; the newest SNAPSHOTS_KEPT are held.
 */

export const SNAPSHOTS_KEPT = 120;

/**
 * @typedef {object} Snapshot
 * @property {number} number from 1 in the run
 * @property {string} cluster that requested it
 * @property {string} topic
 * @property {"pending" | "completed" | "timed-out" | "abandoned"} state
 * @property {number | null} asked_us
 * @property {number | null} ended_us completed, timed out or abandoned
 * @property {number} round 1 or 2
 * @property {number | null} second_us when the second round was requested
 * @property {{ledger: number, entry: number} | null} local position in `cluster`'s own log, once completed
 * @property {Object<string, {ledger: number, entry: number}>} positions by peer: the responses so far, or the final ones
 * @property {Object<string, {state: "cached" | "used" | "evicted", reason?: string, at_us: number}>} kept by subscription
 */

/** @returns {Map<number, Snapshot>} */
export const noSnapshots = () => new Map();

const FOLDS = {
  "snapshot.requested": (row, old) => ({ ...old, asked_us: row.count === 2 ? old.asked_us : row.at_us, round: row.count ?? 1, second_us: row.count === 2 ? row.at_us : old.second_us, state: "pending" }),
  "snapshot.answered": (row, old) => ({ ...old, positions: { ...old.positions, [row.peer]: { ledger: row.to_ledger, entry: row.to_entry } } }),
  "snapshot.completed": (row, old) => ({
    ...old,
    state: "completed",
    ended_us: row.at_us,
    asked_us: row.duration_us === undefined ? old.asked_us : row.at_us - row.duration_us, // computed from the duration, since rows before this one may not be held
    local: { ledger: row.ledger, entry: row.entry },
    partial: row.reason === "partial",
  }),
  "snapshot.position": (row, old) => ({ ...old, positions: { ...old.positions, [row.peer]: { ledger: row.to_ledger, entry: row.to_entry } } }),
  "snapshot.timed-out": (row, old) => ({ ...old, state: "timed-out", ended_us: row.at_us }),
  "snapshot.abandoned": (row, old) => ({ ...old, state: "abandoned", ended_us: row.at_us }),
  "snapshot.cached": (row, old) => keeping(row, old, "cached"),
  "snapshot.used": (row, old) => keeping(row, old, "used"),
  "snapshot.evicted": (row, old) => (old.kept[row.subscription]?.state === "used" ? old : keeping(row, old, "evicted")),
};

function keeping(row, old, state) {
  return { ...old, kept: { ...old.kept, [row.subscription]: { state, reason: row.reason, at_us: row.at_us } } };
}

/**
 * @param {Map<number, Snapshot>} snapshots
 * @param {object[]} rows rows not folded before
 * @returns {Map<number, Snapshot>}
 */
export function foldSnapshots(snapshots, rows) {
  let next = snapshots;
  for (const row of rows) {
    const fold = FOLDS[row.type];
    if (!fold || row.snapshot === undefined) continue;
    if (next === snapshots) next = new Map(snapshots);
    const old = next.get(row.snapshot) ?? fresh(row);
    next.set(row.snapshot, fold(row, old));
  }
  if (next.size > SNAPSHOTS_KEPT) {
    for (const number of [...next.keys()].sort((a, b) => a - b).slice(0, next.size - SNAPSHOTS_KEPT)) next.delete(number);
  }
  return next;
}

function fresh(row) {
  return {
    number: row.snapshot,
    cluster: row.cluster,
    topic: row.topic,
    state: "pending",
    asked_us: null,
    ended_us: null,
    round: 1,
    second_us: null,
    local: null,
    positions: {},
    kept: {},
    partial: false,
  };
}
