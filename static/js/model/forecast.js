/**
 * The fail-over-now curve: instants and, per subscription and peer, the forecast number of duplicates.
 * The server chooses the instants from the run alone (`visualizer/questions/curve.py`). A page holds the newest `POINTS_KEPT` up to
 * now. `curve_window.js` requests older ones.
 */

/** Number of points held. A snapshot frame contains as many, so the curve does not depend on how the page got to the instant. */
export const POINTS_KEPT = 800;

/** @typedef {[at_us: number, values: Object<string, Object<string, number>>]} Point */

/**
 * @param {Point[]} points in ascending order
 * @param {Point[] | undefined} added in ascending order; they replace points of the same time, which a command may have changed
 * @param {boolean} follows whether no point is missing between the two lists
 * @returns {Point[]} `points` itself when nothing was added
 */
export function addPoints(points, added, follows = true) {
  if (!follows) return (added ?? []).slice(-POINTS_KEPT);
  if (!added || added.length === 0) return points;
  const before = points.findLastIndex(([at_us]) => at_us < added[0][0]) + 1;
  return [...points.slice(0, before), ...added].slice(-POINTS_KEPT);
}

/** @returns {Point[]} the points held, followed by the forecast at the instant shown */
export function curveUpToNow(state) {
  const now = Object.entries(state.view?.forecast ?? {}).map(([name, { to }]) => [name, Object.fromEntries(Object.entries(to).map(([peer, figures]) => [peer, figures.duplicates]))]);
  if (now.length === 0) return state.forecast;
  return [...state.forecast.filter(([at_us]) => at_us < state.at_us), [state.at_us, Object.fromEntries(now)]];
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

/** @returns {string[]} peers that occur in the curve for this subscription, in order of appearance */
export function peersOf(points, subscription) {
  const peers = new Set();
  for (const [, values] of points) for (const peer of Object.keys(values[subscription] ?? {})) peers.add(peer);
  return [...peers];
}
