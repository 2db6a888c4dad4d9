/**
 * Computes everything that the picture of the lanes needs: plane, strips, state of each entry, threads, arcs.
 * It is computed once per server frame or change of the window. The animation only draws messages in flight over it.
 */

import { markerKind } from "../model/cells.js";
import { ENTRIES_HELD } from "../model/older_cells.js";
import { FORECAST_DUPLICATE, isOwnMarker, makeEntryFlags, UNKNOWN } from "../model/entry_flags.js";
import { stretchesOf } from "../model/causes.js";
import { pinsOf } from "./pins.js";
import { layLinks, makePlane } from "../../../layout/plane.js";
import { layStrip } from "./strip.js";
import { backOf, fitted } from "./window.js";
import { threadsOf } from "./threads.js";
import { topicView } from "../model/topics.js";

/** Fewest units that the window shows; fewer while a tour shows messages large. */
const [FEWEST_UNITS, FEWEST_LARGE] = [24, 8];
/** Most entries from the head that are searched for the slowest cursor. */
const LOOKED_BACK = ENTRIES_HELD;

/**
 * @typedef {object} Scene
 * @property {import("../../../layout/plane.js").Plane} plane
 * @property {object} watched
 * @property {import("./window.js").Window} window fitted to the logs
 * @property {Object<string, SceneLane>} lanes by cluster
 * @property {import("./threads.js").Thread[]} threads
 * @property {import("../../../layout/plane.js").Arc[]} arcs
 * @property {import("../../../model/state.js").LabState["only"]} only entries that are marked beside another run
 */
/**
 * @typedef {object} SceneLane
 * @property {import("./strip.js").Strip} strip
 * @property {Uint16Array} bits state of the entries [strip.from, strip.to), empty when there are too many
 * @property {boolean} partial whether some of them are not loaded or unknown, so that counts of them would be counts of a part
 * @property {any} topic the topic's view
 * @property {any} cursor the subscription's view
 * @property {import("../model/cells.js").CellStore | undefined} store
 * @property {import("../model/causes.js").Stretch[]} stretches entries that would be duplicates, with their causes
 * @property {string} state up, down, lost
 * @property {import("./pins.js").LanePins} pins
 */

/** Smallest length of a message that is tapped to answer, px: with its number, and the newest ones in view. */
const TAPPED_PX = 20;

/**
 * @param {import("../../../model/state.js").LabState & import("../model/folds.js").PulsarState} state
 * @param {object} watched
 * @param {{width: number, room: number, scale: number, window: import("./window.js").Window, asked?: boolean, large?: boolean, forecast?: boolean}} given asked: a question is answered in a log; large: messages are drawn large while there are few; forecast: whether messages that would be duplicates are marked
 * @returns {Scene}
 */
export function makeScene(state, watched, { width, room, scale, window, asked = false, large = false, forecast = true }) {
  const names = watched.lanes.filter((cluster) => topicView(state, cluster, watched.topic));
  const plane = makePlane({ width, scale, names: names.length ? names : watched.lanes, room, large });
  const units = (cluster) => unitsOf(state, watched, cluster);
  const needed = Math.max(names.length ? (large ? FEWEST_LARGE : FEWEST_UNITS) : 0, ...names.map((cluster) => neededUnits(state, watched, cluster, units(cluster))));
  const shown = fitted(window, needed, plane.a1 - plane.a0, plane.turned ? 0.7 : scale, state.playing, { least_px: asked && plane.turned ? TAPPED_PX : 0, large });
  const flagsOf = makeEntryFlags(state, { ...watched });
  /** @type {Object<string, SceneLane>} */
  const lanes = {};
  for (const { name } of plane.lanes) lanes[name] = layLane(state, watched, name, { plane, shown, units: units(name), flagsOf, forecast });
  return {
    plane,
    watched,
    window: shown,
    lanes,
    threads: threadsOf(state, watched),
    only: state.only,
    arcs: layLinks(plane, Object.keys(state.view.links ?? {})),
  };
}

function layLane(state, watched, cluster, { plane, shown, units, flagsOf, forecast }) {
  const topic = topicView(state, cluster, watched.topic);
  const store = state.cells[`${cluster}/${watched.topic}`];
  const length = topic?.length ?? 0;
  const strip = layStrip({ length, first_kept: topic?.first_kept ?? 0, back: backOf(shown, cluster), unit_px: shown.unit_px, a0: plane.a0, a1: plane.a1, units });
  const bits = strip.to - strip.from <= ENTRIES_HELD ? flagsOf(cluster, strip.from, strip.to) : new Uint16Array(0);
  if (!forecast) for (const at of bits.keys()) bits[at] &= ~FORECAST_DUPLICATE;
  const remote = cluster !== watched.subject && topic !== undefined;
  const cursor = topic?.subscriptions?.[watched.subscription];
  return {
    strip,
    bits,
    partial: bits.some((bit) => (bit & UNKNOWN) !== 0),
    topic,
    store,
    cursor,
    pins: pinsOf(plane, { strip, cursor, topic }, cluster === watched.subject),
    stretches: bits.length && remote && forecast ? stretchesOf(state, watched, cluster, strip.from, bits) : [],
    state: state.view.clusters[cluster]?.state ?? "gone",
  };
}

/** @returns {(index: number) => number} width of an entry in units of a message */
function unitsOf(state, watched, cluster) {
  const store = state.cells[`${cluster}/${watched.topic}`];
  const subject_number = watched.clusters.indexOf(watched.subject);
  if (!store) return () => 1;
  const { kind, snapshot } = store.columns;
  return (index) => {
    const at = index - store.first;
    if (at < 0 || at >= store.count || kind[at] < 100) return 1;
    return isOwnMarker(state.owners, kind[at], snapshot[at], subject_number) && markerKind(kind[at]) > 0 ? 0.8 : 0.4;
  };
}

/** Units from a few entries before the cluster's mark-delete to its head. */
function neededUnits(state, watched, cluster, units) {
  const topic = topicView(state, cluster, watched.topic);
  const cursor = topic?.subscriptions?.[watched.subscription];
  if (!topic) return 0;
  const from = Math.max(topic.first_kept, topic.length - LOOKED_BACK, cursor ? cursor.mark_delete_index - 4 : topic.length - 60);
  let sum = 0;
  for (let index = from; index < topic.length; index++) sum += units(index);
  return sum * 1.04;
}
