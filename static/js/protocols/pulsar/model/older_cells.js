/**
 * Requests older cells of the window that the page does not hold, as tiles, a few at a time.
 * A frame contains only new cells, and the first frame the newest 400.
 */

import { TILE_CELLS } from "./tiles.js";
import { topicView } from "./topics.js";

/** Windows with more entries are drawn from tiles of counts, since single entries are not visible. */
export const ENTRIES_HELD = 12_000;

/** Tiles of one log that are requested at once, the newest first. */
const AT_ONCE = 3;

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
  return Object.entries(scene.lanes).flatMap(([cluster, { strip }]) => {
    const store = state.cells[`${cluster}/${topic}`];
    const first_kept = topicView(state, cluster, topic)?.first_kept ?? 0;
    // the window may reach before the first kept entry, where nothing can be requested
    if (!store || store.first <= first_kept) return [];
    const beside_window = strip.from >= store.first || strip.to - strip.from > ENTRIES_HELD;
    return beside_window ? [] : [{ cluster, first: store.first, back_to: Math.max(first_kept, strip.from) }];
  });
}
