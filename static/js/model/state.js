/**
 * The page's state of its lab, as one plain value. Only `reduce` makes a new one. A protocol adds what it folds from frames.
 *
 * @typedef {object} LabState
 * @property {object | null} welcome the server's welcome: title, scenario, clusters, owner, rows to hold and to mark…
 * @property {number} epoch -1 before the first frame
 * @property {number} number
 * @property {number} at_us instant of the newest frame
 * @property {boolean} playing
 * @property {number} speed simulated seconds per second of the wall clock
 * @property {number | null} reached the speed that the last second of play really had
 * @property {object | null} view `world.view()` as of the newest frame
 * @property {import("./names.js").NameTable} names
 * @property {object[]} flights things on the wire
 * @property {Object<string, number>} flights_total by "a -> b"
 * @property {boolean} sampled fewer cells or flights came than there are
 * @property {object[]} rows the newest control rows up to the instant
 * @property {number} rows_from no control row from this seq on is missing in `rows`
 * @property {import("./kept.js").Kept} kept the newest rows of what is held for longer
 * @property {import("./forecast.js").Point[]} forecast
 * @property {number} forecast_from_us no point from this instant on is missing in `forecast`
 * @property {object[]} branches
 * @property {number} viewers
 * @property {number} missed frames that this page was too slow for
 * @property {number} gaps times the page had to ask for a snapshot
 */

import { makeNames } from "./names.js";

/** @returns {LabState} */
export function emptyLab() {
  return {
    welcome: null,
    epoch: -1,
    number: 0,
    at_us: 0,
    playing: false,
    speed: 1,
    reached: null,
    view: null,
    names: makeNames(),
    flights: [],
    flights_total: {},
    sampled: false,
    rows: [],
    rows_from: 0,
    kept: {},
    forecast: [],
    forecast_from_us: 0,
    branches: [],
    viewers: 0,
    missed: 0,
    gaps: 0,
  };
}

/** Clusters in the scenario's sorted order (the number of a cell's origin is a place in this list), or the nodes of a group lab. */
export function clustersOf(state) {
  const named = state.welcome?.names?.clusters ?? [];
  return named.length ? named : Object.keys(state.view?.clusters ?? {});
}

/**
 * Clusters in the order in which they are shown: the scenario file's, so that its author chooses which region a story begins with. A failover
 * does not change it, since a reader would have to search for a lane that moved.
 */
export const lanesOf = (state) => state.welcome?.lanes ?? clustersOf(state);

/** @returns {boolean} whether a cluster or node is up: the only ones that anything can move to */
export const isUp = (state, cluster) => state.view?.clusters?.[cluster]?.state === "up";
