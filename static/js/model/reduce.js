/**
 * (state, message) → state. Pure: the same messages in the same order give the same state; nothing is read from the
 * clock, the page or the network. A frame that does not follow is counted in `gaps` and changes nothing else.
 */

import { placeOf } from "../wire/sequence.js";
import { appendCells, prependCells } from "../protocols/pulsar/model/cells.js";
import { changedView } from "./changes.js";
import { emptyLab } from "./state.js";
import { beginsOf } from "../protocols/pulsar/model/begins.js";
import { addKept } from "./kept.js";
import { addPoints, POINTS_KEPT } from "./forecast.js";
import { foldMarkers, noMarkers } from "../protocols/pulsar/model/markers.js";
import { foldOwners } from "../protocols/pulsar/model/owners.js";
import { foldSnapshots, noSnapshots } from "../protocols/pulsar/model/snapshots.js";
import { addRows, ROWS_KEPT } from "./rows.js";

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
  const base = frame.snapshot ? startOver(state) : state;
  const follows = !frame.snapshot && frame.rows_from <= base.view.seq;
  const rows = addRows(base.rows, frame.rows, follows);
  const goes_on = !frame.snapshot && frame.forecast_from_us <= base.at_us;
  const forecast = addPoints(base.forecast, frame.forecast, goes_on);
  const fresh = [...(frame.kept ?? []), ...frame.rows];
  const kept = addKept(base.kept, fresh);
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
    rows_from: rows.length >= ROWS_KEPT ? rows[0].seq : Math.min(frame.rows_from, follows ? base.rows_from : Infinity),
    kept,
    snapshots: kept.snapshots === base.kept.snapshots ? base.snapshots : foldSnapshots(noSnapshots(), kept.snapshots),
    markers: foldMarkers(follows ? base.markers : noMarkers(), frame.rows),
    begins: beginsOf(kept.created, frame.view),
    forecast,
    forecast_from_us: forecast.length >= POINTS_KEPT ? forecast[0][0] : Math.min(frame.forecast_from_us, goes_on ? base.forecast_from_us : Infinity),
    branches: frame.branches ?? base.branches,
  };
}

/** A snapshot frame starts a new past: nothing of what the page showed before may be seen in it. */
function startOver(state) {
  return {
    ...emptyLab(),
    welcome: state.welcome,
    names: state.names,
    viewers: state.viewers,
    missed: state.missed,
    gaps: state.gaps,
    branches: state.branches,
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
