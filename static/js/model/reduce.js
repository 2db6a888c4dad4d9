/**
 * (state, message) → state. Pure: the same messages in the same order give the same state; nothing is read from the
 * clock, the page or the network. A frame that does not follow is counted in `gaps` and changes nothing else.
 */

import { placeOf } from "../wire/sequence.js";
import { appendCells, prependCells } from "./cells.js";
import { changedView } from "./changes.js";
import { emptyLab } from "./state.js";
import { foldBegins } from "./begins.js";
import { addPoints } from "./forecast.js";
import { foldMarkers } from "./markers.js";
import { foldOwners } from "./owners.js";
import { foldSnapshots } from "./snapshots.js";
import { addRows, rowsAhead, ROWS_KEPT } from "./rows.js";
import { standingAtFailover } from "./moved.js";

const TAKES = {
  welcome: (state, message) => ({ ...state, welcome: message }),
  viewers: (state, message) => ({ ...state, viewers: message.count }),
  lagged: (state, message) => ({ ...state, missed: state.missed + message.missed }),
  frame: takeFrame,
  "cells-older": takeOlder,
};

/**
 * @param {import("./state.js").LabState} state
 * @param {object} message a decoded frame of the socket
 * @returns {import("./state.js").LabState} the same object when the message says nothing about the lab
 */
export function reduce(state, message) {
  const take = TAKES[message.type];
  return take ? take(state, message) : state;
}

function takeFrame(state, given) {
  const place = placeOf(state, given);
  if (place === "old") return state;
  if (place === "gap") return { ...state, gaps: state.gaps + 1 };
  const frame = given.snapshot ? given : { ...given, view: changedView(state.view, given.changes, given.whole) };
  const base = frame.snapshot ? startOver(state, frame) : state;
  const rows = addRows(base.rows, frame.rows);
  const fresh = rows === base.rows ? [] : rows.slice(rows.findLastIndex((row) => row.seq <= lastSeq(base.rows)) + 1);
  return {
    ...base,
    epoch: frame.epoch,
    number: frame.number,
    at_us: frame.at_us,
    playing: frame.playing,
    speed: frame.speed ?? base.speed,
    reached: frame.reached ?? null,
    view: frame.view,
    cells: takeCells(base, frame.cells),
    owners: foldOwners(base.owners, frame.cells),
    flights: frame.flights,
    flights_total: frame.flights_total,
    sampled: frame.sampled,
    rows,
    ahead: rowsAhead(base.ahead, frame.view.seq),
    snapshots: foldSnapshots(base.snapshots, fresh),
    markers: foldMarkers(base.markers, fresh),
    begins: foldBegins(base.begins, fresh, frame.view),
    forecast: addPoints(base.forecast, frame.forecast),
    moved: standingAtFailover(base, fresh, frame),
    branches: frame.branches ?? base.branches,
  };
}

const lastSeq = (rows) => (rows.length ? rows[rows.length - 1].seq : -1);

/**
 * A snapshot frame starts a new past: nothing of the old one may shine through. The curve keeps what lies before the
 * new instant on the same branch, because a snapshot carries only the newest stretch of it.
 */
function startOver(state, frame) {
  const same_branch = state.view && state.view.branch === frame.view.branch;
  const kept = same_branch ? state.forecast.filter(([at_us]) => at_us < (frame.forecast?.[0]?.[0] ?? frame.at_us)) : [];
  return {
    ...emptyLab(),
    welcome: state.welcome,
    names: state.names,
    viewers: state.viewers,
    missed: state.missed,
    gaps: state.gaps,
    branches: state.branches,
    ahead: same_branch ? addRows(state.rows, state.ahead).slice(-ROWS_KEPT) : [],
    begins: same_branch ? state.begins : {},
    moved: same_branch && state.moved && state.moved.at_us <= frame.at_us ? state.moved : null,
    forecast: kept,
  };
}

function takeCells(state, blocks) {
  if (!blocks) return state.cells;
  const cells = { ...state.cells };
  for (const [where, block] of Object.entries(blocks)) cells[where] = appendCells(cells[where], block, state.names);
  return cells;
}

/** Cells that the page fetched as a tile, to be put before those it holds: `{branch, where, block}`. */
function takeOlder(state, { branch, where, block }) {
  const store = state.cells[where];
  if (!store || state.view?.branch !== branch) return state;
  const grown = prependCells(store, block, state.names);
  if (grown === store) return state;
  return { ...state, cells: { ...state.cells, [where]: grown }, owners: foldOwners(state.owners, { [where]: block }), older: state.older + 1 };
}
