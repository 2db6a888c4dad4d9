/**
 * A causal cone as the page lights it: which rows, markers, snapshots and entries belong to it, and which cause leads to which
 * row. Made once per click from the server's answer; lanes, diagram and list only look things up in it.
 */

import { PROTOCOLS } from "../protocols/table.js";

/** Types of rows that contain an entry's position. */
const PLACES = new Set(["message.stored", ...PROTOCOLS.flatMap(({ entry_rows }) => entry_rows ?? [])]);

/**
 * @typedef {object} Lit
 * @property {object} row what was clicked
 * @property {Set<number>} seqs rows of the cone, the clicked one included
 * @property {number} back how many rows led to it
 * @property {number} forward how many came of it
 * @property {boolean} more there are others that were not asked for
 * @property {Set<number>} markers
 * @property {Set<number>} snapshots
 * @property {Object<string, string[]>} entries "ledger:entry" by "cluster/topic"
 * @property {{from: {cluster: string, at_us: number}, to: {cluster: string, at_us: number}, back: boolean}[]} edges
 */

/**
 * @param {{row: object, back: object[], forward: object[], more: boolean}} answer of `/labs/<id>/cone.json`
 * @returns {Lit}
 */
export function litOf({ row, back, forward, more }) {
  const rows = new Map([...back, row, ...forward].map((one) => [one.seq, one]));
  const lit = { row, seqs: new Set(rows.keys()), back: back.length, forward: forward.length, more, markers: new Set(), snapshots: new Set(), entries: {}, edges: [] };
  for (const one of rows.values()) {
    if (one.marker !== undefined) lit.markers.add(one.marker);
    if (one.snapshot !== undefined) lit.snapshots.add(one.snapshot);
    if (PLACES.has(one.type) && one.entry !== undefined) (lit.entries[`${one.cluster}/${one.topic}`] ??= []).push(`${one.ledger}:${one.entry}`);
    const cause = rows.get(one.cause_seq);
    if (cause?.cluster && one.cluster) lit.edges.push({ from: cause, to: one, back: one.seq <= row.seq });
  }
  return lit;
}
