/** The period of a topic's snapshots, which sets the span of the time diagram. */

import { topicView } from "./topics.js";

/** Pulsar's default, for topics without a snapshot controller, us. */
const DEFAULT_US = 1_000_000;

/** @returns {number} the longest period among the watched topic's snapshot controllers, us */
export function snapshotPeriod(state, { lanes, topic }) {
  const periods = lanes.map((cluster) => topicView(state, cluster, topic)?.controller?.period_us ?? 0);
  return Math.max(...periods) || DEFAULT_US;
}
