/**
 * Computes the share of each origin in a stretch of a log, for the overview and for strips too long to draw one by one.
 * It uses the cells that the page holds, else the tiles from the server; null when neither covers the stretch yet.
 */

/** Most entries that are read in one stretch; more would not change a pixel. */
const SAMPLED = 16;

/** @typedef {{origins: number[], markers: number}} Shares shares of origins, by cluster number, and of markers; their sum is 1 */

/**
 * @param {import("./cells.js").CellStore | undefined} store
 * @param {((from: number, to: number) => Shares | null) | null} tiles
 * @param {number} clusters number of clusters
 * @returns {(from: number, to: number) => Shares | null}
 */
export function densityOf(store, tiles, clusters) {
  return (from, to) => {
    if (store && from >= store.first && from < store.first + store.count) return sampled(store, from, Math.min(to, store.first + store.count), clusters);
    return tiles ? tiles(from, to) : null;
  };
}

function sampled(store, from, to, clusters) {
  const origins = new Array(clusters).fill(0);
  const step = Math.max(1, Math.floor((to - from) / SAMPLED));
  let seen = 0;
  let markers = 0;
  for (let index = from; index < to; index += step) {
    const kind = store.columns.kind[index - store.first];
    seen += 1;
    if (kind < 100) origins[kind] += 1;
    else markers += 1;
  }
  return { origins: origins.map((count) => count / seen), markers: markers / seen };
}
