/** Pulsar's part of the page's state, folded from frames: cells of logs, markers, snapshots, begins of cursors. */

import { beginsOf } from "./begins.js";
import { appendCells, prependCells } from "./cells.js";
import { foldMarkers, noMarkers } from "./markers.js";
import { foldOwners } from "./owners.js";
import { foldSnapshots, noSnapshots } from "./snapshots.js";

/**
 * @typedef {object} PulsarState
 * @property {Object<string, import("./cells.js").CellStore>} cells by "cluster/topic"
 * @property {Map<number, number>} owners snapshot number to the number of the cluster that requested it
 * @property {Map<number, import("./snapshots.js").Snapshot>} snapshots
 * @property {Map<number, import("./markers.js").Marker>} markers
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
