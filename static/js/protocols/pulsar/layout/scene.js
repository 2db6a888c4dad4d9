/**
 * Computes everything that the picture of the lanes needs: plane, strips, state of each entry, threads, arcs.
 * It is computed once per server frame or change of the window. The animation only draws messages in flight over it.
 */

import { layLinks, makePlane } from "../../../layout/plane.js";
import { layStrip, pinsOf } from "./strip.js";
import { markerKind } from "../model/cells.js";
import { FORECAST_DUPLICATE, UNKNOWN, isOwnMarker, makeEntryFlags, stretchesOf } from "../model/entry_flags.js";
import { ENTRIES_HELD } from "../model/older_cells.js";
import { indexOf } from "../model/positions.js";
import { topicView } from "../model/topics.js";

/**
 * Chooses how much of the logs the page shows.
 * By default the window reaches from just before the slowest cursor to the head, in a few fixed widths so that it does not change all the
 * time. A viewer's zoom or drag stays until the viewer chooses to follow again.
 */

/** Widths of a message among which the window chooses, in px. */
export const WIDTHS_PX = [30, 22, 16, 14, 12, 10, 8, 6, 5, 4, 3, 2, 1.4, 1, 0.7, 0.5, 0.35, 0.25, 0.17, 0.12, 0.08];
/** Further widths while a tour shows messages large, in px. */
const LARGE_PX = [88, 66, 50, 40];
/** Widths that a viewer may choose, in px. */
const ZOOM_PX = [44, 30, 22, 16, 12, 8, 5, 3, 2, 1, 0.5, 0.25, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001];

/**
 * @typedef {{unit_px: number, back: number, held: boolean, backs?: Object<string, number>}} Window held: the viewer chose the width;
 *   backs: set when lanes scroll independently; how far each was dragged
 */

/** @returns {number} entries after the window in one lane */
export const backOf = (window, lane) => window.backs?.[lane] ?? window.back;

/** Switches between lanes that scroll together and lanes that scroll independently from their present positions. @returns {Window} */
export const parted = (window, lanes) => (window.backs ? { ...window, backs: undefined } : { ...window, backs: Object.fromEntries(lanes.map((lane) => [lane, window.back])), held: true });

/** @returns {Window} */
export const followingWindow = (unit_px = 12) => ({ unit_px, back: 0, held: false });

/**
 * @param {Window} window
 * @param {number} needed_units from just before the slowest cursor to the head
 * @param {number} room_px length of the lane
 * @param {number} scale
 * @param {boolean} playing when paused, the width depends only on the needed units, not on earlier widths
 * @param {{least_px?: number, large?: boolean}} [given] least_px: smallest width of a message, such as one that a finger can hit; large: whether few messages may be wider than usual
 * @returns {Window} the same object when nothing changes
 */
export function fitted(window, needed_units, room_px, scale, playing, { least_px = 0, large = false } = {}) {
  if (window.held || needed_units <= 0) return window;
  const widths = (large ? [...LARGE_PX, ...WIDTHS_PX] : WIDTHS_PX).map((width) => width * scale).filter((width, at) => at === 0 || width >= least_px);
  const wanted = room_px / needed_units;
  const best = widths.find((width) => width <= wanted) ?? widths[widths.length - 1];
  const current = window.unit_px;
  // during playback: narrower at once, since the cursor would leave the picture; wider only with room to spare
  if ((best !== current && !playing) || best < current || (best > current && wanted > current * 1.5) || !widths.includes(current)) return { ...window, unit_px: best };
  return window;
}

/** @param {1 | -1} direction 1 zooms in @returns {Window} */
export function zoomed(window, direction, scale) {
  const widths = ZOOM_PX.map((width) => width * scale);
  const at = nearest(widths, window.unit_px);
  const next = widths[Math.min(widths.length - 1, Math.max(0, at - direction))];
  return { ...window, unit_px: next, held: true };
}

function nearest(widths, width) {
  let best = 0;
  for (let at = 1; at < widths.length; at++) if (Math.abs(Math.log(widths[at] / width)) < Math.abs(Math.log(widths[best] / width))) best = at;
  return best;
}

/**
 * @param {number} by_px positive drags older entries into view
 * @param {number} longest length of the longest log
 * @param {string | null} lane the dragged lane, when lanes scroll independently
 */
export function dragged(window, by_px, longest, lane = null) {
  const within = (back) => Math.max(0, Math.min(longest, Math.round(back + by_px / window.unit_px)));
  if (window.backs && lane !== null) return { ...window, backs: { ...window.backs, [lane]: within(backOf(window, lane)) }, held: true };
  return { ...window, back: within(window.back), held: true };
}

/**
 * Computes the threads of snapshots: a snapshot's position in each lane that it contains, connected from lane to lane. Numbers only.
 */

/** Most threads that are drawn at once; more would hide the lanes. */
const THREADS_DRAWN = 7;

/**
 * @typedef {object} Thread
 * @property {number} snapshot
 * @property {"applied" | "used" | "ready" | "finished" | "building" | "timed-out" | "evicted"} state used: not every cluster has applied the update; finished: not yet read by the dispatcher
 * @property {Object<string, number>} index by cluster: the last entry that it covers
 * @property {boolean} decided whether it is the newest used one, which the last update carried
 */

/**
 * @param {import("../../../model/state.js").LabState & import("../model/folds.js").PulsarState} state
 * @param {object} watched
 * @returns {Thread[]} the newest applied one, a newer used one, the ready ones, those being built, the newest failed one
 */
export function threadsOf(state, watched) {
  const topic = topicView(state, watched.subject, watched.topic);
  const pending = new Map((topic?.controller?.pending ?? []).map((one) => [one.snapshot, one]));
  const cached = new Set((topic?.subscriptions?.[watched.subscription]?.cache ?? []).map((one) => one.snapshot));
  const groups = { applied: [], used: [], ready: [], finished: [], building: [], "timed-out": [], evicted: [] };
  const own_snapshots = [...state.snapshots.values()].filter((one) => one.cluster === watched.subject && one.topic === watched.topic);
  const newest_used = Math.max(0, ...own_snapshots.filter((one) => one.kept[watched.subscription]?.state === "used").map((one) => one.number));
  for (const snapshot of own_snapshots) {
    const word = stateOf(snapshot, watched.subscription, { pending, cached, newest_used });
    if (!word) continue;
    const thread = toThread(state, watched, snapshot, word, pending.get(snapshot.number));
    if (word === "used" && isApplied(state, watched, thread)) thread.state = "applied";
    thread.decided = word === "used" && snapshot.number === newest_used;
    groups[thread.state].push(thread);
  }
  const newest = (word, count) => groups[word].sort((a, b) => b.snapshot - a.snapshot).slice(0, count);
  return [...newest("applied", 1), ...newest("used", 1).filter((thread) => thread.snapshot > (groups.applied[0]?.snapshot ?? 0)), ...newest("building", 2), ...newest("ready", 2), ...newest("finished", 1), ...newest("timed-out", 1), ...newest("evicted", 1)]
    .filter((thread) => Object.keys(thread.index).length > 0)
    .slice(0, THREADS_DRAWN);
}

function stateOf(snapshot, subscription, { pending, cached, newest_used }) {
  const kept = snapshot.kept[subscription];
  if (kept?.state === "used") return "used";
  if (snapshot.state === "pending") return pending.has(snapshot.number) ? "building" : null;
  if (snapshot.state === "timed-out" || snapshot.state === "abandoned") return "timed-out";
  if (cached.has(snapshot.number)) return "ready";
  if (snapshot.number < newest_used) return null; // a newer one was used, so this one will not be
  if (!kept) return "finished";
  return kept.state === "evicted" && kept.reason === "cache-rule" ? "evicted" : null;
}

/** Whether the cursor of every cluster in the snapshot has reached its position. */
function isApplied(state, watched, thread) {
  return Object.entries(thread.index).every(([cluster, index]) => {
    const cursor = topicView(state, cluster, watched.topic)?.subscriptions?.[watched.subscription];
    return cursor !== undefined && cursor.mark_delete_index >= index;
  });
}

function toThread(state, watched, snapshot, word, pending) {
  const index = {};
  const positions = { ...snapshot.positions };
  if (snapshot.local) positions[snapshot.cluster] = snapshot.local;
  for (const [cluster, text] of Object.entries(pending?.answers ?? {})) {
    const [ledger, entry] = String(text).split(":").map(Number);
    if (Number.isFinite(entry)) positions[cluster] = { ledger, entry };
  }
  for (const [cluster, position] of Object.entries(positions)) {
    const at = indexOf(topicView(state, cluster, watched.topic)?.ledgers ?? [], position);
    if (at !== null) index[cluster] = at;
  }
  return { snapshot: snapshot.number, state: word, index, decided: false };
}

/** Fewest units that the window shows; fewer while a tour shows messages large. */
const [FEWEST_UNITS, FEWEST_LARGE] = [24, 8];
/** Most entries from the head that are searched for the slowest cursor. */
const LOOKED_BACK = ENTRIES_HELD;

/**
 * @typedef {object} Scene
 * @property {import("../../../layout/plane.js").Plane} plane
 * @property {object} watched
 * @property {Window} window fitted to the logs
 * @property {Object<string, SceneLane>} lanes by cluster
 * @property {Thread[]} threads
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
 * @property {import("../model/entry_flags.js").Stretch[]} stretches entries that would be duplicates, with their causes
 * @property {string} state up, down, lost
 * @property {import("./strip.js").LanePins} pins
 */

/** Smallest length of a message that is tapped to answer, px: with its number, and the newest ones in view. */
const TAPPED_PX = 20;

/**
 * @param {import("../../../model/state.js").LabState & import("../model/folds.js").PulsarState} state
 * @param {object} watched
 * @param {{width: number, room: number, scale: number, window: Window, asked?: boolean, large?: boolean, forecast?: boolean}} given asked: a question is answered in a log; large: messages are drawn large while there are few; forecast: whether messages that would be duplicates are marked
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
