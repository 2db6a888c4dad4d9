/** Tells what can exist in a lab, so that the page leaves out what its scenario can never show. */

import { clustersOf } from "../../../model/state.js";
import { topicView } from "./topics.js";

const SNAPSHOT_FAMILY = "replicated-subscriptions";

/** @param {import("../../../model/state.js").LabState & import("./folds.js").PulsarState} state @returns {boolean} whether there is another cluster to fail over or replicate to */
export const hasPeers = (state) => clustersOf(state).length > 1;

/** @returns {boolean} whether snapshots are the subject of the scenario's family, or a cluster of the watched topic can take or use one */
export function takesSnapshots(state, watched) {
  if (!hasPeers(state)) return false;
  if (state.welcome?.family === SNAPSHOT_FAMILY) return true;
  return watched.clusters.some((cluster) => {
    const topic = topicView(state, cluster, watched.topic);
    return topic && (topic.controller || Object.values(topic.subscriptions ?? {}).some(({ replicated }) => replicated));
  });
}
