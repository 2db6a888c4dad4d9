/**
 * The names of snapshots: numbered from 1 within the region that requested them, S1, S2, S3.
 * Rows and logs have one number for all regions. The view has the region of each number up to the instant shown; rows after it continue
 * the numbering (`simulator/protocols/pulsar/snapshots/controller.py`).
 */

import { clustersOf } from "../../../model/state.js";

/** @typedef {{regions: string, ordinals: number[], counts: Map<string, number>}} Known */

/** @type {WeakMap<object, Known>} by the view's parts, which are a new object when a snapshot was requested */
const known_of = new WeakMap();
const NONE = { regions: "", ordinals: [], counts: new Map() };

/** @returns {Known} */
function knownOf(view) {
  const parts = view?.snapshot_regions;
  if (!parts) return NONE;
  if (!known_of.has(parts)) {
    const regions = Object.values(parts).join("");
    const counts = new Map();
    const ordinals = [...regions].map((region) => {
      counts.set(region, (counts.get(region) ?? 0) + 1);
      return counts.get(region);
    });
    known_of.set(parts, { regions, ordinals, counts });
  }
  return known_of.get(parts);
}

/**
 * @param {any} state
 * @param {number} number of a snapshot in the trace
 * @param {object[]} [later] rows after the instant shown, without gaps, if the snapshot may be one of these
 * @returns {{region: string, name: string} | null} null for a snapshot that the page does not know
 */
export function snapshotName(state, number, later = []) {
  const known = knownOf(state.view);
  const names = clustersOf(state);
  if (number <= known.regions.length) {
    const region = names[known.regions.charCodeAt(number - 1) - 97];
    return region === undefined ? null : { region, name: `S${known.ordinals[number - 1]}` };
  }
  const requests = later.filter((row) => row.type === "snapshot.requested" && (row.count ?? 1) === 1);
  const own = requests.find((row) => row.snapshot === number);
  if (!own) return null;
  const before = known.counts.get(String.fromCharCode(97 + names.indexOf(own.cluster))) ?? 0;
  return { region: own.cluster, name: `S${before + requests.filter((row) => row.cluster === own.cluster && row.snapshot <= number && row.snapshot > known.regions.length).length}` };
}

/** @returns {string} "S3", where the text names the region */
export const shortName = (state, number, later) => snapshotName(state, number, later)?.name ?? "a snapshot";

/** @returns {string} "us-west's S3" */
export function fullName(state, number, later) {
  const found = snapshotName(state, number, later);
  return found ? `${found.region}'s ${found.name}` : "a snapshot";
}
