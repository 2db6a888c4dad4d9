/**
 * The log cells of one topic in one cluster that the page holds: columns of typed arrays, appended at the end.
 * A store is a value: appending returns a new one. It shares the columns when they have room, because the cells that an older store can see
 * (its own `count`) never change. docs/http-api.md explains the kinds.
 */

import { numberOf } from "../../../model/names.js";

/** Most cells held per topic; then the older half is dropped (tiles can load it again). 28 bytes per cell, so 2.8 MB. */
export const CELLS_KEPT = 100_000;
const FIRST_ROOM = 1024;

/**
 * @typedef {object} CellStore
 * @property {number} first index in the log of the first cell held
 * @property {number} count number of cells held
 * @property {number} length entries in the log so far
 * @property {object} columns kind, producer, number, size, snapshot, and `used`
 */

function makeColumns(room) {
  return {
    used: 0,
    kind: new Int32Array(room),
    producer: new Int32Array(room),
    size: new Int32Array(room),
    snapshot: new Int32Array(room),
    number: new Float64Array(room),
  };
}

/** @returns {CellStore} */
function emptyCells(first = 0) {
  return { first, count: 0, length: first, columns: makeColumns(FIRST_ROOM) };
}

/**
 * @param {CellStore | undefined} store the present cells; a block with a gap before it replaces them, because the gap would be wrong
 * @param {object} block one value of a frame's `cells`
 * @param {import("../../../model/names.js").NameTable} names
 * @returns {CellStore}
 */
export function appendCells(store, block, names) {
  const base = fits(store, block) ? store : emptyCells(block.first);
  const skip = base.first + base.count - block.first;
  const added = Math.max(0, block.kind.length - skip);
  const columns = roomFor(base, added);
  const numbers = (block.names ?? []).map((name) => numberOf(names, name));
  for (let i = 0; i < added; i++) {
    const from = skip + i;
    const to = base.count + i;
    columns.kind[to] = block.kind[from];
    columns.producer[to] = block.producer[from] < 0 ? -1 : numbers[block.producer[from]];
    columns.number[to] = block.number[from];
    columns.size[to] = block.size[from];
    columns.snapshot[to] = block.snapshot[from];
  }
  columns.used = base.count + added;
  const count = base.count + added;
  const grown = { first: base.first, count, length: Math.max(block.length ?? 0, base.first + count), columns };
  return count > CELLS_KEPT ? withoutOlderHalf(grown) : grown;
}

/**
 * Inserts the cells of a tile before those held; a tile that does not reach the first cell held is ignored.
 * @param {CellStore} store
 * @param {object} block as in a frame; overlapping cells are skipped
 * @returns {CellStore} the same object when nothing could be added
 */
export function prependCells(store, block, names) {
  const added = Math.min(block.kind.length, store.first - block.first);
  if (added <= 0 || block.first + block.kind.length < store.first || store.count + added > CELLS_KEPT) return store;
  const older = appendCells(undefined, { ...block, ...cut(block, added) }, names);
  const columns = makeColumns(Math.max(FIRST_ROOM, 2 ** Math.ceil(Math.log2(store.count + added + 1))));
  copyColumns(older.columns, columns, 0, added);
  for (const name of COLUMNS) columns[name].set(store.columns[name].subarray(0, store.count), added);
  columns.used = store.count + added;
  return { first: block.first, count: columns.used, length: store.length, columns };
}

const COLUMNS = ["kind", "producer", "number", "size", "snapshot"];
const cut = (block, count) => Object.fromEntries(COLUMNS.map((name) => [name, block[name].slice(0, count)]));

const fits = (store, block) => store !== undefined && block.first >= store.first && block.first <= store.first + store.count;

function roomFor(store, added) {
  const needed = store.count + added;
  const { columns } = store;
  if (columns.used === store.count && needed <= columns.kind.length) return columns;
  const grown = makeColumns(Math.max(FIRST_ROOM, 2 ** Math.ceil(Math.log2(needed + 1))));
  copyColumns(columns, grown, 0, store.count);
  return grown;
}

function withoutOlderHalf(store) {
  const dropped = store.count >> 1;
  const columns = makeColumns(store.columns.kind.length);
  copyColumns(store.columns, columns, dropped, store.count);
  columns.used = store.count - dropped;
  return { ...store, first: store.first + dropped, count: columns.used, columns };
}

function copyColumns(source, target, from, to) {
  for (const name of COLUMNS) target[name].set(source[name].subarray(from, to));
}

/** Kind of a marker cell without its origin: 110 request, 111 response, 112 snapshot, 113 update; -1 for a message. */
export const markerKind = (kind) => (kind < 100 ? -1 : kind % 1000);

/** Number of the cluster that wrote the cell, by the scenario's sorted names; -1 for a marker whose origin is not recorded. */
export const originOf = (kind) => (kind < 100 ? kind : Math.floor(kind / 1000) - 1);

/** A message's identity as one number, the same in every cluster: 2^21 producers with 2^32 messages each fit into a double. */
export const identityOf = (columns, at) => columns.producer[at] * 4294967296 + columns.number[at];
