/**
 * Shares of each origin over a stretch of a log: from the cells the page holds, else from the tiles the server gave, else
 * null (not known yet). For strips too long to draw one by one and for the overview.
 */

/** Entries looked at in one stretch; more says nothing new about a pixel. */
const SAMPLED = 16;

/** @typedef {{origins: number[], markers: number}} Shares parts of 1, by cluster number; the rest are markers */

/**
 * @param {import("./cells.js").CellStore | undefined} store
 * @param {((from: number, to: number) => Shares | null) | null} tiles
 * @param {number} clusters how many
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
