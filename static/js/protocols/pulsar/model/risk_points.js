/** The forecast's curve as the page holds it: columns by remote, extended by the server's points after the last held one. */

export const POINTS_KEPT = 6000;
export const FIGURES = ["duplicates", "stranded", "lost", "lag_us"];

/**
 * @typedef {object} RiskPoints
 * @property {number | null} branch
 * @property {string} subscription
 * @property {number[]} at_us ascending
 * @property {Object<string, Object<string, (number | null)[]>>} peers by remote and figure; null where the cluster was not a remote
 */

/** @returns {RiskPoints} */
export const noPoints = (branch = null, subscription = "") => ({ branch, subscription, at_us: [], peers: {} });

/** @returns {number} the instant after which points are requested, before the last one, which a command may have changed */
export const lastOf = (points) => Math.max(0, (points.at_us.at(-1) ?? 0) - 1);

/** @returns {RiskPoints} the points up to an instant: later ones are not shown after a seek back */
export function upTo(points, at_us) {
  const count = points.at_us.findLastIndex((one) => one <= at_us) + 1;
  if (count === points.at_us.length) return points;
  const peers = Object.fromEntries(Object.entries(points.peers).map(([peer, columns]) => [peer, Object.fromEntries(FIGURES.map((name) => [name, columns[name].slice(0, count)]))]));
  return { ...points, at_us: points.at_us.slice(0, count), peers };
}

/**
 * @param {RiskPoints} points
 * @param {{at_us: number[], peers: object}} added answer of forecast.json
 * @returns {RiskPoints} a new value; the older half is thinned when there are too many
 */
export function grown(points, added) {
  if (added.at_us.length === 0) return points;
  const known = upTo(points, added.at_us[0] - 1);
  /** @type {Object<string, Object<string, (number | null)[]>>} */
  const peers = {};
  for (const peer of new Set([...Object.keys(known.peers), ...Object.keys(added.peers)])) {
    peers[peer] = Object.fromEntries(
      FIGURES.map((name) => [name, [...(known.peers[peer]?.[name] ?? known.at_us.map(() => null)), ...(added.peers[peer]?.[name] ?? added.at_us.map(() => null))]]),
    );
  }
  const all = { ...known, at_us: [...known.at_us, ...added.at_us], peers };
  return all.at_us.length > POINTS_KEPT ? thinned(all) : all;
}

function thinned(points) {
  const half = points.at_us.length >> 1;
  const keep = (_, at) => at >= half || at % 2 === 0;
  const peers = Object.fromEntries(Object.entries(points.peers).map(([peer, columns]) => [peer, Object.fromEntries(FIGURES.map((name) => [name, columns[name].filter(keep)]))]));
  return { ...points, at_us: points.at_us.filter(keep), peers };
}

/** @returns {boolean} whether a figure was ever above 0, forecast or actual */
export const isEverAboveZero = (points, failovers, name) =>
  Object.values(points.peers).some((columns) => columns[name].some((value) => value > 0)) || failovers.some((one) => one[name] > 0 || one.forecast?.[name] > 0);
