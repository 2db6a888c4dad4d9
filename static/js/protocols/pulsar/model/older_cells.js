/**
 * Requests older cells that the page needs and does not hold, as tiles, a few at a time.
 * A frame contains only new cells, and the first frame the newest 400. Needed are the entries of the window, and those entries in which
 * messages that are unacked in the window may be acknowledged by another cluster's cursor. Until they are held, the state of these messages
 * is unknown (`entry_flags.js`). In playback so fast that frames leave cells out, these others are not requested: the next frame drops them.
 */

import { isAcknowledged } from "./acknowledged.js";
import { TILE_CELLS } from "./tiles.js";
import { topicView } from "./topics.js";

/** Windows with more entries are drawn from tiles of counts, since single entries are not visible. Also the most cells per log that are searched for copies. */
export const ENTRIES_HELD = 12_000;

const FIRST_MARKER_KIND = 100;

/** Tiles of one log that are requested at once, the newest first. */
const AT_ONCE = 3;

/** Result of `lagging` per state, because every animation frame needs it. */
const found_for = new WeakMap();

/**
 * @param {import("../layout/scene.js").Scene | null} scene
 * @param {import("../../../model/state.js").LabState & import("./folds.js").PulsarState} state
 * @param {ReturnType<import("./tiles.js").makeTiles>} tiles
 * @returns {object[]} messages for the reducer, one for each tile received
 */
export function olderCells(scene, state, tiles) {
  return neededLogs(scene, state).flatMap(({ cluster, first, back_to }) => {
    const { topic } = scene.watched;
    const { branch } = state.view;
    const newest = Math.floor((first - 1) / TILE_CELLS);
    const oldest = Math.max(newest - AT_ONCE + 1, Math.floor(back_to / TILE_CELLS));
    const blocks = [];
    for (let index = newest; index >= oldest; index--) blocks.push(tiles.entries({ branch, cluster, topic, index }));
    const gap = blocks.indexOf(null); // a tile is used when all newer ones are held
    return blocks.slice(0, gap < 0 ? blocks.length : gap).map((block) => ({ type: "cells-older", branch, where: `${cluster}/${topic}`, block }));
  });
}

/** Whether the page still requests entries, so that a part of the picture is unknown. */
export const isLoading = (scene, state) => neededLogs(scene, state).length > 0;

/** @returns {{cluster: string, first: number, back_to: number}[]} logs of which older entries are needed: those before `first`, at most back to `back_to` */
function neededLogs(scene, state) {
  if (!scene || !state.view) return [];
  const { topic } = scene.watched;
  const needed = state.playing && state.sampled ? [] : lagging(scene, state);
  return Object.entries(scene.lanes).flatMap(([cluster, { strip }]) => {
    const store = state.cells[`${cluster}/${topic}`];
    const first_kept = topicView(state, cluster, topic)?.first_kept ?? 0;
    // the window may reach before the first kept entry, where nothing can be requested
    if (!store || store.first <= first_kept) return [];
    if (needed.includes(cluster)) return [{ cluster, first: store.first, back_to: first_kept }];
    const beside_window = strip.from >= store.first || strip.to - strip.from > ENTRIES_HELD;
    return beside_window ? [] : [{ cluster, first: store.first, back_to: Math.max(first_kept, strip.from) }];
  });
}

/** @returns {string[]} clusters whose held cells begin after the copy of a message that is unacked in some lane's window */
function lagging(scene, state) {
  const key = Object.values(scene.lanes).map(({ strip }) => `${strip.from}-${strip.to}`).join();
  const known = found_for.get(state);
  if (known?.key === key) return known.clusters;
  const lowest = lowestOpen(scene, state);
  const clusters = Object.keys(scene.lanes).filter((cluster) => {
    const store = state.cells[`${cluster}/${scene.watched.topic}`];
    return store && cursorOf(scene, state, cluster) && store.count < ENTRIES_HELD && !reaches(store, lowest);
  });
  found_for.set(state, { key, clusters });
  return clusters;
}

function cursorOf(scene, state, cluster) {
  return topicView(state, cluster, scene.watched.topic)?.subscriptions?.[scene.watched.subscription];
}

/** @returns {Map<number, number>} for each producer the lowest number that is in a window and not acked by that lane's cursor */
function lowestOpen(scene, state) {
  const lowest = new Map();
  for (const [cluster, { strip }] of Object.entries(scene.lanes)) {
    const store = state.cells[`${cluster}/${scene.watched.topic}`];
    if (!store || strip.to - strip.from > ENTRIES_HELD) continue;
    const cursor = cursorOf(scene, state, cluster);
    const { kind, producer, number } = store.columns;
    const end = Math.min(store.count, strip.to - store.first);
    for (let at = Math.max(0, strip.from - store.first); at < end; at++) {
      if (kind[at] >= FIRST_MARKER_KIND || isAcknowledged(cursor, store.first + at)) continue;
      if (!(lowest.get(producer[at]) <= number[at])) lowest.set(producer[at], number[at]);
    }
  }
  return lowest;
}

/** Whether a log's held cells go back to these numbers; each producer's numbers are in order. */
function reaches(store, lowest) {
  const { kind, producer, number } = store.columns;
  const missing = new Map(lowest);
  for (let at = 0; at < store.count && missing.size > 0; at++) {
    if (kind[at] < FIRST_MARKER_KIND && number[at] <= missing.get(producer[at])) missing.delete(producer[at]);
  }
  return missing.size === 0;
}
