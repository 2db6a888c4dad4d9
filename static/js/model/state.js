/**
 * The page's state of its lab, as one plain value. Only `reduce` makes a new one.
 * A protocol adds the fields that it folds from frames.
 *
 * @typedef {object} LabState
 * @property {object | null} welcome the server's welcome: title, scenario, clusters, owner, types of rows to hold and to mark…
 * @property {number} epoch -1 before the first frame
 * @property {number} number
 * @property {number} at_us instant of the newest frame
 * @property {boolean} playing
 * @property {number} speed simulated seconds per second of the wall clock
 * @property {number | null} reached the speed actually reached in the last second of playback
 * @property {object | null} view `world.view()` as of the newest frame
 * @property {import("./names.js").NameTable} names
 * @property {object[]} flights messages in flight
 * @property {Object<string, number>} flights_total by "a -> b"
 * @property {boolean} sampled whether the frame contains only a sample of the cells or flights
 * @property {object[]} rows the newest control rows up to the instant
 * @property {number} rows_from `rows` contains every control row from this seq on
 * @property {import("./reduce.js").Kept} kept the newest rows of each class that is held for longer
 * @property {import("./forecast.js").Point[]} forecast
 * @property {number} forecast_from_us `forecast` contains every point from this instant on
 * @property {object[]} branches
 * @property {number} viewers
 * @property {number} missed number of frames that the server dropped because this page was too slow
 * @property {number} gaps how often the page had to request a snapshot frame
 * @property {Object<string, [ledger: number, first: number, last: number][]> | null} only by "cluster/topic" the entries of which only this run of two has an event or message
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
    only: null,
  };
}

/** Clusters in the scenario's sorted order (a cell's origin is an index into this list), or the nodes of a group lab. */
export function clustersOf(state) {
  const named = state.welcome?.names?.clusters ?? [];
  return named.length ? named : Object.keys(state.view?.clusters ?? {});
}

/**
 * Clusters in the order in which they are shown: that of the scenario file, so that its author chooses the first region.
 * A failover does not change the order, so that no lane moves.
 */
export const lanesOf = (state) => state.welcome?.lanes ?? clustersOf(state);

/** @returns {boolean} whether a cluster or node is up; only these can be the target of a move */
export const isUp = (state, cluster) => state.view?.clusters?.[cluster]?.state === "up";

/** A run that was recorded on real brokers: what the page says about it, and what it does not offer there. */

/** @typedef {{system: string, date: string, measured: string[], inferred: string[], beside: string}} Recorded the texts are empty when the recording is missing; `beside` is the address of the comparison with the simulator */

/** @returns {Recorded | null} null for a simulated run */
export const recordedIn = (state) => state.welcome?.recorded ?? null;

const source = ({ system, date }) => [system, date].filter(Boolean).join(", ");

/** @param {Recorded} recorded @returns {string} the line under the headline */
export const originOf = (recorded) => (source(recorded) ? `Recorded on real brokers: ${source(recorded)}.` : "Recorded on real brokers.");

/** @param {Recorded} recorded @returns {string} the answer to every attempt at a command */
export const refusalOf = (recorded) => `This run was recorded on real brokers${source(recorded) ? ` (${source(recorded)})` : ""}. It can be played and searched, but takes no commands.`;

/** The groups of a menu with only the items that show something. @template {{items: {look?: object}[]}} G @param {G[]} groups @returns {G[]} */
export const withoutCommands = (groups) => groups.map((group) => ({ ...group, items: group.items.filter(({ look }) => look) })).filter(({ items }) => items.length > 0);

/** Actions of keys that a recorded run does not have. */
export const NO_COMMANDS = ["breakSomething", "failOver", "anyCommand", "undo", "branches"];
