/**
 * Finds messages that a cursor covers although they were not acked: lost to consumers, and shown unlike acked ones.
 * A page has cursors and no acknowledgements. Messages are therefore marked only when they are exactly as many as the engine counts as lost.
 */

import { isAcknowledged, inRanges } from "./acknowledged.js";
import { beginKey } from "./begins.js";
import { identityOf } from "./cells.js";
import { topicView } from "./topics.js";

/**
 * @param {import("../../../model/state.js").LabState & import("./folds.js").PulsarState} state
 * @param {{topic: string, subscription: string, subject: string}} watched
 * @param {string} cluster of the cursor
 * @param {import("./moved.js").Moved | null} moved the latest failover of the subscription
 * @param {(cluster: string) => Set<number>} elsewhere identities that cursors of other clusters cover
 * @returns {Set<number>} identities, none in most runs
 */
export function passedOver(state, watched, cluster, moved, elsewhere) {
  const { topic, subscription, subject } = watched;
  const cursor = topicView(state, cluster, topic)?.subscriptions?.[subscription];
  const store = state.cells[`${cluster}/${topic}`];
  if (!cursor || !store) return new Set();
  if (cluster !== subject) {
    const forecast = state.view.forecast?.[subscription];
    const counted = forecast?.from === subject ? forecast.to?.[cluster]?.lost : 0;
    return counted ? takeCounted(counted, store, (index) => isAcknowledged(cursor, index), elsewhere(cluster)) : new Set();
  }
  const failover = state.view.failovers?.findLast((one) => one.subscription === subscription);
  if (!failover?.lost || moved?.to !== cluster) return new Set();
  const begin = state.begins[beginKey(cluster, topic, subscription)] ?? -1;
  const then = (index) => index > begin && (index <= moved.mark_delete_index || inRanges(moved.ranges, index));
  return takeCounted(failover.lost, store, then, elsewhere(cluster));
}

function takeCounted(counted, store, covered, elsewhere) {
  const found = new Set();
  let messages = 0;
  const { kind, size } = store.columns;
  for (let at = 0; at < store.count; at++) {
    if (kind[at] >= 100 || !covered(store.first + at)) continue;
    const identity = identityOf(store.columns, at);
    if (elsewhere.has(identity)) continue;
    found.add(identity);
    messages += Math.max(1, size[at]);
  }
  return messages === counted ? found : new Set();
}
