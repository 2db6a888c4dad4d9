/** Computes the arcs of the links between lanes, one per direction, and the position of a message on an arc. Px only. */

import { reachOf } from "./plane.js";

/** @typedef {{name: string, from: string, to: string, outer: boolean, points: number[]}} Arc points: x0 y0 x1 y1 x2 y2 x3 y3 of a cubic curve */

/**
 * @param {import("./plane.js").Plane} plane
 * @param {string[]} names "a -> b"
 * @returns {Arc[]}
 */
export function layLinks(plane, names) {
  const arcs = [];
  for (const name of names) {
    const [from, to] = name.split(" -> ");
    const i = plane.lanes.findIndex((lane) => lane.name === from);
    const j = plane.lanes.findIndex((lane) => lane.name === to);
    if (i < 0 || j < 0) continue;
    arcs.push({ name, from, to, outer: i > j, points: arcPoints(plane, plane.lanes[i], plane.lanes[j], Math.abs(i - j), i > j) });
  }
  return arcs;
}

function arcPoints(plane, one, other, lanes_apart, outer) {
  const reach = (reachOf(lanes_apart, outer) * plane.scale * 4) / 3;
  const middle = plane.cell / 2;
  const side = plane.turned ? -middle : middle;
  const c0 = one.base + side;
  const c3 = other.base + side;
  const c1 = c0 + (c3 - c0) * 0.18;
  const c2 = c0 + (c3 - c0) * 0.82;
  const along = [plane.port, plane.port + reach, plane.port + reach, plane.port];
  const across = [c0, c1, c2, c3];
  return along.flatMap((a, at) => (plane.turned ? [across[at], a] : [a, across[at]]));
}

/** @returns {[x: number, y: number]} the point at share `s` of the arc (0: the sender, 1: the receiver) */
export function pointOn(points, s) {
  const r = 1 - s;
  const a = r * r * r;
  const b = 3 * r * r * s;
  const c = 3 * r * s * s;
  const d = s * s * s;
  return [a * points[0] + b * points[2] + c * points[4] + d * points[6], a * points[1] + b * points[3] + c * points[5] + d * points[7]];
}

/** @returns {number} share of the link that a message in flight has covered at an instant, 0 to 1 */
export function shareOf(flight, at_us) {
  const whole_us = flight.due_us - flight.sent_us;
  if (whole_us <= 0) return 1;
  return Math.min(1, Math.max(0, (at_us - flight.sent_us) / whole_us));
}
