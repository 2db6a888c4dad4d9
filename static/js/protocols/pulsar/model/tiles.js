/**
 * Loads tiles of the logs from the server: 512 cells each; at level k one cell stands for 4^k entries.
 * Full tiles are cached. Unfinished ones are requested again when the log has grown enough. Few requests are open at a time.
 */

import { originOf } from "./cells.js";

export const TILE_CELLS = 512;
const HIGHEST_LEVEL = 8;
/** Number of cached tiles, least recently used dropped first; about 20 MB at most. */
const KEPT = 400;
const AT_ONCE = 3;
/** HTTP status while the lab moves to another process or is rebuilt; the tile is then requested again. */
const BUSY = 503;
/** An unfinished tile is requested again when the log has grown by this share of a tile. */
const STALE_SHARE = 1 / 16;

/**
 * @param {object} parts
 * @param {(path: string) => Promise<object>} parts.get
 * @param {string} parts.base path of the lab, ending in "/"
 * @param {() => void} parts.onTile called when a tile was received
 */
export function makeTiles({ get, base, onTile }) {
  const tiles = new Map();
  const requests = makeRequestQueue(get, keep);
  let version = 0;

  function keep(key, tile) {
    if (tile.length === 0) return; // the lab has moved to an instant without this topic, and may move back
    tiles.delete(key);
    tiles.set(key, tile);
    if (tiles.size > KEPT) tiles.delete(tiles.keys().next().value);
    version += 1;
    onTile();
  }

  return {
    /** Increases with each tile, so that a diagram can detect that it must be redrawn. */
    version: () => version,
    /** Drops everything: another branch has another past. */
    clear() {
      tiles.clear();
      requests.clear();
    },
    /** @returns {object | null} the finest tile as a block of cells; requested when it is not cached */
    entries({ branch, cluster, topic, index }) {
      const key = `${branch}/${cluster}/${topic}/0/${index}`;
      const tile = tiles.get(key);
      if (!tile) requests.want(key, `${base}tiles/${branch}/${encodeURIComponent(cluster)}/${encodeURIComponent(topic)}/0/${index}.json?version=0`);
      return tile?.kind ? { ...tile, first: Math.min(tile.first + TILE_CELLS, tile.length) - tile.kind.length } : null;
    },
    /**
     * @param {{branch: number, cluster: string, topic: string, length: number, clusters: number}} log
     * @returns {(from: number, to: number) => Shares | null}
     */
    density({ branch, cluster, topic, length, clusters }) {
      return (from, to) => {
        if (from < 0 || from >= length) return null;
        const level = levelFor(to - from);
        const span = 4 ** level;
        const index = Math.floor(from / (span * TILE_CELLS));
        const key = `${branch}/${cluster}/${topic}/${level}/${index}`;
        const tile = tiles.get(key);
        const stale = tile && !tile.full && length - tile.length > span * TILE_CELLS * STALE_SHARE;
        if (!tile || stale) requests.want(key, `${base}tiles/${branch}/${encodeURIComponent(cluster)}/${encodeURIComponent(topic)}/${level}/${index}.json?version=${tile ? length : 0}`);
        return tile ? sharesOf(tile, Math.floor(from / span) - index * TILE_CELLS, clusters) : null;
      };
    },
  };
}

/** @returns {number} the coarsest level at which one cell covers no more than the stretch */
export const levelFor = (entries) => Math.max(0, Math.min(HIGHEST_LEVEL, Math.floor(Math.log(Math.max(1, entries)) / Math.log(4))));

/** @returns {Shares | null} shares of one cell of a tile */
export function sharesOf(tile, cell, clusters) {
  const origins = new Array(clusters).fill(0);
  let markers = 0;
  if (tile.level === 0) {
    const kind = tile.kind?.[cell];
    if (kind === undefined) return null;
    if (kind < 100) origins[kind] = 1;
    else markers = 1;
    return { origins, markers };
  }
  let whole = 0;
  for (const [text, counts] of Object.entries(tile.counts ?? {})) {
    const kind = Number(text);
    whole += counts[cell];
    if (kind < 100) origins[originOf(kind)] += counts[cell];
    else markers += counts[cell];
  }
  if (whole === 0) return null;
  return { origins: origins.map((count) => count / whole), markers: markers / whole };
}

/** Requests tiles, a few at a time and the newest request first, because the window may have moved. */
function makeRequestQueue(get, onTile) {
  const asked = new Set();
  const refused = new Set();
  const queue = [];

  function pump() {
    while (queue.length && asked.size - queue.length <= AT_ONCE) {
      const [key, path] = queue.pop();
      get(path)
        .then((tile) => onTile(key, tile))
        .catch((reason) => reason.status === BUSY || refused.add(key)) // the tile does not exist on this branch: the strip stays neutral
        .finally(() => {
          asked.delete(key);
          pump();
        });
    }
  }

  return {
    want(key, path) {
      if (asked.has(key) || refused.has(key)) return;
      asked.add(key);
      queue.push([key, path]);
      pump();
    },
    clear() {
      refused.clear();
      queue.length = 0;
      asked.clear();
    },
  };
}

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
