/**
 * Reduces (state, message) to the next state. Pure: the same messages in the same order give the same state.
 * It does not read the clock, the page or the network. A frame that does not follow the previous one is counted in `gaps` and changes
 * nothing else.
 */

import { POINTS_KEPT, addPoints } from "./forecast.js";
import { emptyLab } from "./state.js";
import { protocolOf } from "../protocols/table.js";

/**
 * Decides whether a frame follows the last one received.
 * Frames of one epoch are numbered without gaps. A snapshot frame may have any number and starts anew from there.
 */

/**
 * @param {{epoch: number, number: number}} seen the last frame received; epoch -1 before the first
 * @param {{epoch: number, number: number, snapshot: boolean}} frame
 * @returns {"take" | "old" | "gap"} use it, ignore it, or request a snapshot frame from the server
 */
export function placeOf(seen, frame) {
  if (frame.snapshot) return frame.epoch < seen.epoch ? "old" : "take";
  if (frame.epoch < seen.epoch) return "old";
  if (frame.epoch > seen.epoch) return "gap";
  if (frame.number <= seen.number) return "old";
  return frame.number === seen.number + 1 ? "take" : "gap";
}

/**
 * Applies the changes of a frame to the view of the frame before (`visualizer/live/frames.py` computes them).
 * Unchanged objects are shared with the previous view. No object is modified.
 */

/**
 * @param {object} view
 * @param {object} changes the changed values, nested as in the view; lists and plain values are replaced
 * @param {string[][]} whole paths of objects that `changes` contains completely, in the order of their names
 * @returns {object} the new view
 */
export function changedView(view, changes, whole) {
  return merged(whole.reduce(emptied, view), changes);
}

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** An object that is replaced as a whole must not be merged with the old one, so its place is empty until the changes are applied. */
function emptied(view, path) {
  if (path.length === 0 || !isObject(view)) return null;
  const [name, ...rest] = path;
  return { ...view, [name]: emptied(view[name], rest) };
}

function merged(before, changes) {
  if (!isObject(before)) return changes;
  const names = Object.keys(changes);
  if (names.length === 0) return before;
  const after = { ...before };
  for (const name of names) after[name] = isObject(changes[name]) ? merged(before[name], changes[name]) : changes[name];
  return after;
}

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

/**
 * The newest control rows up to the instant shown, in order of seq, without gaps.
 * Older rows, and rows after the instant on a branch that was simulated further, are requested from the server (`event_panel.js`).
 */

/** Number of rows held. A snapshot frame contains as many, so the list does not depend on how the page got to the instant. */
export const ROWS_KEPT = 300;

/**
 * @param {object[]} kept by ascending seq
 * @param {object[]} added by ascending seq
 * @param {boolean} follows whether no row is missing between the two lists
 * @returns {object[]} a new list, or `kept` itself when no row was new
 */
export function addRows(kept, added, follows = true) {
  if (!follows || added[0]?.seq < kept[0]?.seq) return added.slice(-ROWS_KEPT);
  const last_seq = kept.length ? kept[kept.length - 1].seq : -1;
  const fresh = added.filter((row) => row.seq > last_seq);
  if (fresh.length === 0) return kept;
  return kept.concat(fresh).slice(-ROWS_KEPT);
}

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

/** Chooses what the page shows, as the lab's protocol decides it. The viewer's choice applies while its object exists. */

/**
 * @param {import("./state.js").LabState} state
 * @param {{topic?: string, subscription?: string, target?: string, group?: string}} selection what the viewer chose.
 * `clusters` are sorted (a cell's origin is an index into them), `lanes` are the same in the order in which they are shown.
 * @returns {{topic?: string, subscription?: string, subject?: string, target: string | null, clusters: string[], lanes: string[], peers: string[], group?: string | null} | null}
 */
export const whatIsWatched = (state, selection) => (state.view ? protocolOf(state).watched(state, selection) : null);
