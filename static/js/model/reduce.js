/**
 * Reduces (state, message) to the next state. Pure: the same messages in the same order give the same state.
 * It does not read the clock, the page or the network. A frame that does not follow the previous one is counted in `gaps` and changes
 * nothing else.
 */

import { protocolOf } from "../protocols/table.js";
import { placeOf } from "../wire/sequence.js";
import { changedView } from "./changes.js";
import { emptyLab } from "./state.js";
import { addKept, classesOf, nothingKept } from "./kept.js";
import { addPoints, POINTS_KEPT } from "./forecast.js";
import { addRows, ROWS_KEPT } from "./rows.js";

const TAKES = {
  welcome: (state, message) => ({ ...state, welcome: message }),
  viewers: (state, message) => ({ ...state, viewers: message.count }),
  lagged: (state, message) => ({ ...state, missed: state.missed + message.missed }),
  frame: takeFrame,
};

/**
 * @param {import("./state.js").LabState} state
 * @param {object} message a decoded message of the socket
 * @returns {import("./state.js").LabState} the same object when the message is not about the lab
 */
export function reduce(state, message) {
  const take = TAKES[message.type] ?? (state.view && protocolOf(state)?.takes?.[message.type]);
  return take ? take(state, message) : state;
}

function takeFrame(state, given) {
  const place = placeOf(state, given);
  if (place === "old") return state;
  if (place === "gap") return { ...state, gaps: state.gaps + 1 };
  const frame = given.snapshot ? given : { ...given, view: changedView(state.view, given.changes, given.whole) };
  const protocol = protocolOf({ welcome: state.welcome, view: frame.view });
  const base = frame.snapshot ? { ...startOver(state), ...protocol?.nothingFolded?.() } : state;
  const follows = !frame.snapshot && frame.rows_from <= base.view.seq;
  const rows = addRows(base.rows, frame.rows, follows);
  const continues = !frame.snapshot && frame.forecast_from_us <= base.at_us;
  const forecast = addPoints(base.forecast, frame.forecast, continues);
  const fresh = [...(frame.kept ?? []), ...frame.rows];
  const kept = addKept(base.kept, fresh, classesOf(state));
  return {
    ...base,
    epoch: frame.epoch,
    number: frame.number,
    at_us: frame.at_us,
    playing: frame.playing,
    speed: frame.speed ?? base.speed,
    reached: frame.reached ?? null,
    view: frame.view,
    flights: frame.flights,
    flights_total: frame.flights_total,
    sampled: frame.sampled,
    rows,
    rows_from: rows.length >= ROWS_KEPT ? rows[0].seq : Math.min(frame.rows_from, follows ? base.rows_from : Infinity),
    kept,
    forecast,
    forecast_from_us: forecast.length >= POINTS_KEPT ? forecast[0][0] : Math.min(frame.forecast_from_us, continues ? base.forecast_from_us : Infinity),
    branches: frame.branches ?? base.branches,
    ...protocol?.foldFrame?.(base, frame, { kept, follows }),
  };
}

/** A snapshot frame replaces the state: nothing that the page showed before may remain in it. */
function startOver(state) {
  return {
    ...emptyLab(),
    welcome: state.welcome,
    kept: nothingKept(classesOf(state)),
    names: state.names,
    viewers: state.viewers,
    missed: state.missed,
    gaps: state.gaps,
    branches: state.branches,
    only: state.only,
  };
}
