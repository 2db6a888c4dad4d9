/**
 * What the page knows of its lab, as one plain value. Only `reduce` makes a new one.
 *
 * @typedef {object} LabState
 * @property {object | null} welcome the server's welcome: title, scenario, clusters, owner…
 * @property {number} epoch -1 before the first frame
 * @property {number} number
 * @property {number} at_us instant of the newest frame
 * @property {boolean} playing
 * @property {number} speed simulated seconds per second of the wall clock
 * @property {number | null} reached the speed that the last second of play really had
 * @property {object | null} view `world.view()` as of the newest frame
 * @property {Object<string, import("../protocols/pulsar/model/cells.js").CellStore>} cells by "cluster/topic"
 * @property {import("./names.js").NameTable} names
 * @property {Map<number, number>} owners snapshot number to the number of the cluster that asked
 * @property {object[]} flights things on the wire
 * @property {Object<string, number>} flights_total by "a -> b"
 * @property {boolean} sampled fewer cells or flights came than there are
 * @property {object[]} rows the newest control rows up to the instant
 * @property {number} rows_from no control row from this seq on is missing in `rows`
 * @property {import("./kept.js").Kept} kept the newest rows of what is held for longer
 * @property {Map<number, import("../protocols/pulsar/model/snapshots.js").Snapshot>} snapshots
 * @property {Map<number, import("../protocols/pulsar/model/markers.js").Marker>} markers
 * @property {import("./forecast.js").Point[]} forecast
 * @property {number} forecast_from_us no point from this instant on is missing in `forecast`
 * @property {Object<string, number>} begins by "cluster/topic/subscription": the ordinal after which its cursor began
 * @property {number} older times that older cells were put in
 * @property {object[]} branches
 * @property {number} viewers
 * @property {number} missed frames that this page was too slow for
 * @property {number} gaps times the page had to ask for a snapshot
 */

import { nothingKept } from "./kept.js";
import { makeNames } from "./names.js";
import { noMarkers } from "../protocols/pulsar/model/markers.js";
import { noSnapshots } from "../protocols/pulsar/model/snapshots.js";

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
    cells: {},
    names: makeNames(),
    owners: new Map(),
    flights: [],
    flights_total: {},
    sampled: false,
    rows: [],
    rows_from: 0,
    kept: nothingKept(),
    snapshots: noSnapshots(),
    markers: noMarkers(),
    forecast: [],
    forecast_from_us: 0,
    begins: {},
    older: 0,
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
 * Clusters in the order in which they are shown: the scenario file's, so that its author says which region a story begins with. A failover
 * changes nothing in it: a lane that leapt to another place would be looked for instead of read.
 */
export const lanesOf = (state) => state.welcome?.lanes ?? clustersOf(state);

/** @returns {object | undefined} the view of one topic in one cluster */
export const topicView = (state, cluster, topic) => state.view?.clusters?.[cluster]?.topics?.[topic];

/** @returns {string[]} topics of every cluster, sorted, each once */
export function topicsOf(state) {
  const names = new Set();
  for (const cluster of Object.values(state.view?.clusters ?? {})) for (const topic of Object.keys(cluster.topics ?? {})) names.add(topic);
  return [...names].sort();
}

/** @returns {string[]} subscriptions of a topic, in any cluster, sorted, each once */
export function subscriptionsOf(state, topic) {
  const names = new Set();
  for (const cluster of Object.values(state.view?.clusters ?? {})) {
    for (const name of Object.keys(cluster.topics?.[topic]?.subscriptions ?? {})) names.add(name);
  }
  return [...names].sort();
}
