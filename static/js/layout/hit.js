/** What lies under a pointer in the lanes' picture. Numbers only. */

import { markerKind } from "../model/cells.js";
import { entryAt } from "./strip.js";

/**
 * @param {import("./scene.js").Scene} scene
 * @param {number} x px in the picture
 * @param {number} y
 * @returns {{cluster: string, index: number, marker: number | null} | null} marker: its number, null for a message
 */
export function thingAt(scene, x, y) {
  const { plane } = scene;
  for (const lane of plane.lanes) {
    const offset = plane.turned ? lane.base - x : y - lane.base;
    if (offset < -plane.lift - 2 || offset > plane.cell + 6) continue;
    const held = scene.lanes[lane.name];
    const index = entryAt(held.strip, plane.turned ? y : x);
    if (index === null || !held.store || !held.strip.fine) return null;
    const at = index - held.store.first;
    if (at < 0 || at >= held.store.count) return null;
    const is_marker = markerKind(held.store.columns.kind[at]) > 0;
    return { cluster: lane.name, index, marker: is_marker ? held.store.columns.number[at] : null };
  }
  return null;
}
