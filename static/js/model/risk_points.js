/** The forecast's curve as the page holds it: columns by remote, grown by what the server says after the last instant known. */

export const POINTS_KEPT = 6000;
export const FIGURES = ["duplicates", "stranded", "lost", "lag_us"];

/**
 * @typedef {object} RiskPoints
 * @property {number | null} branch
 * @property {string} subscription
 * @property {number[]} at_us ascending
 * @property {Object<string, Object<string, (number | null)[]>>} peers by remote and figure; null where it was no remote
 */

/** @returns {RiskPoints} */
export const noPoints = (branch = null, subscription = "") => ({ branch, subscription, at_us: [], peers: {} });

/** @returns {number} the instant after which points are missing */
export const lastOf = (points) => points.at_us.at(-1) ?? 0;

/**
 * @param {RiskPoints} points
 * @param {{at_us: number[], peers: object}} added of forecast.json
 * @returns {RiskPoints} a new value; the older half is thinned when there are too many
 */
export function grown(points, added) {
  const from = added.at_us.findIndex((at_us) => at_us > lastOf(points) || points.at_us.length === 0);
  if (from < 0) return points;
  const fresh = added.at_us.slice(from);
  const peers = {};
  for (const peer of new Set([...Object.keys(points.peers), ...Object.keys(added.peers)])) {
    peers[peer] = Object.fromEntries(
      FIGURES.map((name) => [name, [...(points.peers[peer]?.[name] ?? points.at_us.map(() => null)), ...(added.peers[peer]?.[name].slice(from) ?? fresh.map(() => null))]]),
    );
  }
  const all = { ...points, at_us: [...points.at_us, ...fresh], peers };
  return all.at_us.length > POINTS_KEPT ? thinned(all) : all;
}

function thinned(points) {
  const half = points.at_us.length >> 1;
  const keep = (_, at) => at >= half || at % 2 === 0;
  const peers = Object.fromEntries(Object.entries(points.peers).map(([peer, columns]) => [peer, Object.fromEntries(FIGURES.map((name) => [name, columns[name].filter(keep)]))]));
  return { ...points, at_us: points.at_us.filter(keep), peers };
}

/** @returns {boolean} whether a figure was ever anything but nought, foretold or come */
export const everRose = (points, failovers, name) =>
  Object.values(points.peers).some((columns) => columns[name].some((value) => value > 0)) || failovers.some((one) => one[name] > 0 || one.forecast?.[name] > 0);
