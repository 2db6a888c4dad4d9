/** Finds the entry or the message in flight under a pointer in the picture of the lanes. Numbers only. */

import { markerKind } from "../model/cells.js";
import { pointOn, shareOf } from "../../../layout/plane.js";
import { entryAt } from "./strip.js";

/** @returns {string} the lane nearest to a point of the picture */
export function laneAt({ plane }, x, y) {
  const far = (lane) => Math.abs(plane.turned ? lane.base - plane.cell / 2 - x : lane.base + plane.cell / 2 - y);
  return plane.lanes.reduce((best, lane) => (far(lane) < far(best) ? lane : best)).name;
}

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

/** Largest distance of the pointer from a message or marker in flight, px. */
const REACH_PX = 12;

/**
 * @param {import("./scene.js").Scene} scene
 * @param {object[]} flights of the watched topic
 * @param {number} at_us the instant shown
 * @returns {{flight: object, x: number, y: number} | null} the nearest one on a link; a marker is preferred to a message
 */
export function flightAt(scene, flights, at_us, x, y) {
  /** @type {{flight: object, x: number, y: number, far: number} | null} */
  let best = null;
  for (const flight of flights) {
    const arc = scene.arcs.find((one) => one.from === flight.from && one.to === flight.to);
    if (!arc || flight.sent_us > at_us || flight.due_us < at_us) continue;
    const [fx, fy] = pointOn(arc.points, shareOf(flight, at_us));
    const far = Math.hypot(fx - x, fy - y) + (flight.what === "message" ? REACH_PX / 2 : 0);
    if (far <= REACH_PX && (!best || far < best.far)) best = { flight, x: fx, y: fy, far };
  }
  return best;
}
