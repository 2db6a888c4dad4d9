/** Finds topics and subscriptions of a Pulsar lab in the view of its clusters. */

/** @returns {object | undefined} the view of one topic in one cluster */
export const topicView = (state, cluster, topic) => state.view?.clusters?.[cluster]?.topics?.[topic];

/** @returns {string[]} topics of all clusters, sorted, without repetitions */
export function topicsOf(state) {
  const names = new Set();
  for (const cluster of Object.values(state.view?.clusters ?? {})) for (const topic of Object.keys(cluster.topics ?? {})) names.add(topic);
  return [...names].sort();
}

/** @returns {string[]} subscriptions of a topic in any cluster, sorted, without repetitions */
export function subscriptionsOf(state, topic) {
  const names = new Set();
  for (const cluster of Object.values(state.view?.clusters ?? {})) {
    for (const name of Object.keys(cluster.topics?.[topic]?.subscriptions ?? {})) names.add(name);
  }
  return [...names].sort();
}
