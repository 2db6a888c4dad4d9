/** Pulsar's part of the page's state, folded from frames: cells of logs, markers, snapshots, begins of cursors. */

import { beginsOf } from "./begins.js";
import { appendCells, markerKind, originOf, prependCells } from "./cells.js";
import { foldMarkers, foldSnapshots, noMarkers, noSnapshots } from "./snapshots.js";

/**
 * Finds the cluster that a marker's snapshot belongs to: the writer of the request also owns the responses.
 * It is folded from cells as they arrive, because rows of an old snapshot may no longer be held.
 */

const OWNERS_KEPT = 5000;

/**
 * @param {Map<number, number>} owners snapshot number to cluster number
 * @param {Object<string, {kind: number[], snapshot: number[]}>} blocks a frame's cells
 */
export function foldOwners(owners, blocks) {
  let next = owners;
  for (const block of Object.values(blocks ?? {})) {
    for (let at = 0; at < block.kind.length; at++) {
      const kind = block.kind[at];
      if (kind < 100) continue;
      const marker = markerKind(kind);
      const snapshot = block.snapshot[at];
      // a snapshot marker stays in the cluster that requested it, so it identifies the owner as well as a request does
      if (snapshot < 0 || (marker !== 110 && marker !== 112) || next.has(snapshot)) continue;
      if (next === owners) next = new Map(owners);
      next.set(snapshot, originOf(kind));
    }
  }
  if (next.size > OWNERS_KEPT) for (const number of next.keys()) if (next.size > OWNERS_KEPT) next.delete(number);
  return next;
}

/**
 * @typedef {object} PulsarState
 * @property {Object<string, import("./cells.js").CellStore>} cells by "cluster/topic"
 * @property {Map<number, number>} owners snapshot number to the number of the cluster that requested it
 * @property {Map<number, import("./snapshots.js").Snapshot>} snapshots
 * @property {Map<number, import("./snapshots.js").Marker>} markers
 * @property {Object<string, number>} begins by "cluster/topic/subscription": the index of the entry after which its cursor began
 * @property {number} older number of times that older cells were inserted
 */

/** @returns {PulsarState} */
export const nothingFolded = () => ({ cells: {}, owners: new Map(), snapshots: noSnapshots(), markers: noMarkers(), begins: {}, older: 0 });

/**
 * @param {import("../../../model/state.js").LabState & PulsarState} base the previous state
 * @param {object} frame
 * @param {{kept: import("../../../model/reduce.js").Kept, follows: boolean}} given the rows held now; whether the frame's rows follow the previous ones
 * @returns {Partial<PulsarState>} the changes of the frame
 */
export function foldFrame(base, frame, { kept, follows }) {
  return {
    cells: takeCells(base, frame.cells),
    owners: foldOwners(base.owners, frame.cells),
    snapshots: kept.snapshots === base.kept.snapshots ? base.snapshots : foldSnapshots(noSnapshots(), kept.snapshots),
    markers: foldMarkers(follows ? base.markers : noMarkers(), frame.rows),
    begins: beginsOf(kept.created, frame.view),
  };
}

function takeCells(state, blocks) {
  if (!blocks) return state.cells;
  const cells = { ...state.cells };
  for (const [where, block] of Object.entries(blocks)) cells[where] = appendCells(cells[where], block, state.names);
  return cells;
}

/** Inserts cells of a requested tile before those held: `{branch, where, block}`. */
export function takeOlder(state, { branch, where, block }) {
  const store = state.cells[where];
  if (!store || state.view?.branch !== branch) return state;
  const grown = prependCells(store, block, state.names);
  if (grown === store) return state;
  return { ...state, cells: { ...state.cells, [where]: grown }, owners: foldOwners(state.owners, { [where]: block }), older: state.older + 1 };
}
