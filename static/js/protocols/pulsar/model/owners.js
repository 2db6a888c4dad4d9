/**
 * Finds the cluster that a marker's snapshot belongs to: the writer of the request also owns the responses.
 * It is folded from cells as they arrive, because rows of an old snapshot may no longer be held.
 */

import { markerKind, originOf } from "./cells.js";

const OWNERS_KEPT = 5000;

/**
 * @param {Map<number, number>} owners snapshot number to cluster number
 * @param {Object<string, {kind: number[], snapshot: number[]}>} blocks a frame's cells
 */
export function foldOwners(owners, blocks) {
  let next = owners;
  for (const block of Object.values(blocks ?? {})) {
    for (let at = 0; at < block.kind.length; at++) {
      const kind = block.kind[at];
      if (kind < 100) continue;
      const marker = markerKind(kind);
      const snapshot = block.snapshot[at];
      // a snapshot marker stays in the cluster that requested it, so it identifies the owner as well as a request does
      if (snapshot < 0 || (marker !== 110 && marker !== 112) || next.has(snapshot)) continue;
      if (next === owners) next = new Map(owners);
      next.set(snapshot, originOf(kind));
    }
  }
  if (next.size > OWNERS_KEPT) for (const number of next.keys()) if (next.size > OWNERS_KEPT) next.delete(number);
  return next;
}
