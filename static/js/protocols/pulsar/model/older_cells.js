/**
 * Which older cells the page needs and does not hold: requested as tiles, one step back at a time. A frame brings only what is
 * new, and the first one the newest 400 cells. Needed are the entries of the window and, at rest, those in which the window's
 * open messages are acknowledged by another cluster's cursor: else a page opened here would show fewer of them than one that
 * played up to here.
 */

import { isAcknowledged } from "./acknowledged.js";
import { TILE_CELLS } from "./tiles.js";
import { topicView } from "./topics.js";

/** A window of more entries is drawn from counting tiles, entry by entry would say nothing more. Also the cells of a log in which copies are looked for. */
export const ENTRIES_HELD = 12_000;

const FIRST_MARKER_KIND = 100;

/** What `lagging` found for a state: it is asked in each animation frame. */
const found_for = new WeakMap();

/**
 * @param {import("../layout/scene.js").Scene | null} scene
 * @param {import("../../../model/state.js").LabState & import("./folds.js").PulsarState} state
 * @param {ReturnType<import("./tiles.js").makeTiles>} tiles
 * @returns {object[]} messages for the reducer, of the tiles that have come
 */
export function olderCells(scene, state, tiles) {
  if (!scene || !state.view) return [];
  const { topic } = scene.watched;
  const needed = state.playing ? [] : lagging(scene, state);
  const messages = [];
  for (const [cluster, { strip }] of Object.entries(scene.lanes)) {
    const store = state.cells[`${cluster}/${topic}`];
    if (!store) continue;
    const beside_window = strip.from >= store.first || strip.to - strip.from > ENTRIES_HELD;
    if (beside_window && !needed.includes(cluster)) continue;
    // a window may reach beyond the log's beginning, or beyond what trimming left: there is nothing to ask for
    if (store.first <= (topicView(state, cluster, topic)?.first_kept ?? 0)) continue;
    const block = tiles.entries({ branch: state.view.branch, cluster, topic, index: Math.floor((store.first - 1) / TILE_CELLS) });
    if (block) messages.push({ type: "cells-older", branch: state.view.branch, where: `${cluster}/${topic}`, block });
  }
  return messages;
}

/** @returns {string[]} clusters whose held cells begin after the copy of a message that is open in some lane's window */
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

/** @returns {Map<number, number>} of each producer the lowest number that is in a window and not acknowledged by that lane's cursor */
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

/** Whether a log's held cells go back to these numbers; of each producer a log has them in order. */
function reaches(store, lowest) {
  const { kind, producer, number } = store.columns;
  const missing = new Map(lowest);
  for (let at = 0; at < store.count && missing.size > 0; at++) {
    if (kind[at] < FIRST_MARKER_KIND && number[at] <= missing.get(producer[at])) missing.delete(producer[at]);
  }
  return missing.size === 0;
}
