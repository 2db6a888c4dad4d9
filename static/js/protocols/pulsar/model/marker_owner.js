/** Finds the cluster whose snapshot a marker of the diagram belongs to. */

/** @returns {string} cluster name */
export function markerCluster(state, marker) {
  if (marker.kind === "snapshot_response" && marker.snapshot !== null) {
    return state.snapshots.get(marker.snapshot)?.cluster ?? marker.to ?? marker.hops[0]?.to ?? marker.cluster;
  }
  return marker.cluster;
}
