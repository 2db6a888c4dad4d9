/**
 * The fail-over-now curve: instants and, per subscription and peer, the duplicates then forecast. Kept thin: neighbours
 * closer than the finest step that a screen shows are merged, so that an hour of play stays a few thousand points.
 */

export const POINTS_KEPT = 6000;

/** @typedef {[at_us: number, values: Object<string, Object<string, number>>]} Point */

/**
 * @param {Point[]} points ascending instants
 * @param {Point[] | undefined} added ascending instants
 * @returns {Point[]}
 */
export function addPoints(points, added) {
  if (!added || added.length === 0) return points;
  const last_us = points.length ? points[points.length - 1][0] : -1;
  const fresh = added.filter(([at_us]) => at_us > last_us);
  if (fresh.length === 0) return points;
  const all = points.concat(fresh);
  return all.length > POINTS_KEPT ? thinned(all) : all;
}

/** Every other point of the older half goes; the newer half stays as fine as it came. */
function thinned(points) {
  const half = points.length >> 1;
  return points.filter((_, at) => at >= half || at % 2 === 0);
}

/**
 * @param {Point[]} points
 * @param {string} subscription
 * @param {string} peer
 * @returns {{x: number[], y: number[]}} instants in seconds, duplicates
 */
export function curveOf(points, subscription, peer) {
  const x = [];
  const y = [];
  for (const [at_us, values] of points) {
    const value = values[subscription]?.[peer];
    if (value === undefined) continue;
    x.push(at_us / 1e6);
    y.push(value);
  }
  return { x, y };
}

/** @returns {string[]} peers that the curve knows for this subscription, in order of appearance */
export function peersOf(points, subscription) {
  const peers = new Set();
  for (const [, values] of points) for (const peer of Object.keys(values[subscription] ?? {})) peers.add(peer);
  return [...peers];
}
