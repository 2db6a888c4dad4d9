/** What it means to drag a marker or message in flight: back along its link delays it, off the link would lose it. Numbers only. */

import { pointOn, shareOf } from "../../../layout/plane.js";

/** Farther from its link than this, a flight is off the link, px at scale 1. */
const OFF_PX = 34;
/** Points of a link among which the nearest is searched. */
const POINTS = 60;
/** Shorter delays are no drag, and the longest one by one drag, us. */
const SHORTEST_US = 1_000;
const LONGEST_US = 30_000_000;

/** @typedef {{kind: "none" | "delay" | "drop", by_us: number}} Dragged */

/**
 * @param {number[]} points of the link's arc
 * @param {{sent_us: number, due_us: number}} flight
 * @param {number} at_us the instant shown
 * @param {{x: number, y: number, scale: number}} pointer
 * @returns {Dragged}
 */
export function draggedTo(points, flight, at_us, { x, y, scale }) {
  let nearest = { far: Infinity, share: 0 };
  for (let step = 0; step <= POINTS; step++) {
    const [px, py] = pointOn(points, step / POINTS);
    const far = Math.hypot(px - x, py - y);
    if (far < nearest.far) nearest = { far, share: step / POINTS };
  }
  if (nearest.far > OFF_PX * scale) return { kind: "drop", by_us: 0 };
  if (nearest.share >= shareOf(flight, at_us)) return { kind: "none", by_us: 0 };
  // so slow that it would be there at the instant shown
  const whole_us = (at_us - flight.sent_us) / Math.max(1 / POINTS, nearest.share);
  const by_us = Math.round(whole_us - (flight.due_us - flight.sent_us));
  return by_us < SHORTEST_US ? { kind: "none", by_us: 0 } : { kind: "delay", by_us: Math.min(LONGEST_US, by_us) };
}
