/**
 * Which older cells the window needs and the page does not hold: asked of the tiles, one step back at a time, until the window is
 * covered. A frame brings only what is new, and the first one the newest 400 cells.
 */

import { topicView } from "./state.js";
import { TILE_CELLS } from "./tiles.js";

/** A window of more entries is drawn from counting tiles, entry by entry would say nothing more. */
export const ENTRIES_HELD = 12_000;

/**
 * @param {import("../layout/scene.js").Scene | null} scene
 * @param {import("./state.js").LabState} state
 * @param {ReturnType<import("./tiles.js").makeTiles>} tiles
 * @returns {object[]} messages for the reducer, of the tiles that have come
 */
export function olderCells(scene, state, tiles) {
  if (!scene || !state.view) return [];
  const { topic } = scene.watched;
  const messages = [];
  for (const [cluster, { strip }] of Object.entries(scene.lanes)) {
    const store = state.cells[`${cluster}/${topic}`];
    if (!store || strip.from >= store.first || strip.to - strip.from > ENTRIES_HELD) continue;
    // a window may reach beyond the log's beginning, or beyond what trimming left: there is nothing to ask for
    if (store.first <= (topicView(state, cluster, topic)?.first_kept ?? 0)) continue;
    const block = tiles.entries({ branch: state.view.branch, cluster, topic, index: Math.floor((store.first - 1) / TILE_CELLS) });
    if (block) messages.push({ type: "cells-older", branch: state.view.branch, where: `${cluster}/${topic}`, block });
  }
  return messages;
}
