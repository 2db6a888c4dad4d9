/** What a marker means, in one or two sentences with its own positions. The inspector shows them before JSON and bytes. */

import { fullName, shortName } from "./snapshot_names.js";
import { topicView } from "./topics.js";

/** Larger numbers are negative ones, such as entry -1, which the marker holds as unsigned. */
const LARGEST = 2 ** 53;

const placed = ({ ledger_id, entry_id }) => `${ledger_id > LARGEST ? -1 : ledger_id}:${entry_id > LARGEST ? -1 : entry_id}`;
const there = ({ cluster, message_id }) => `${cluster} ${placed(message_id)}`;
const listed = (parts) => (parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`);

/** @type {Object<string, (marker: any, content: any, state: any, watched: any) => string>} */
const SENTENCES = {
  snapshot_request: ({ cluster, snapshot }, _content, state) => `${cluster} asks the other regions for their positions, for its snapshot ${shortName(state, snapshot)}.`,
  snapshot_response: ({ snapshot }, { cluster }, state) => `${cluster.cluster} answers ${fullName(state, snapshot)}: its position is ${placed(cluster.message_id)}.`,
  snapshot: (marker, { local_message_id, clusters }, state, watched) => `${marker.cluster} ${placed(local_message_id)} corresponds to ${listed(clusters.map(there))}. ${effectOf(marker, clusters, state, watched)}`,
  subscription_update: ({ cluster, subscription, snapshot }, { clusters = [] }, state) =>
    !clusters.length ? `${cluster} publishes an update of ${subscription} that names no position.` : `${cluster} has acknowledged ${subscription} up to its position of ${snapshot ? `its snapshot ${shortName(state, snapshot)}` : "a snapshot"}. The mark-delete of ${subscription} may move to ${listed(clusters.map(({ cluster: name, message_id }) => `${placed(message_id)} in ${name}`))}.`,
};

/** What the snapshot means for the watched subscription, at the instant shown. */
function effectOf({ cluster, snapshot }, clusters, state, { topic, subscription }) {
  const cursor = topicView(state, cluster, topic)?.subscriptions?.[subscription];
  if (!cursor) return `${cluster} has no subscription ${subscription ?? ""} that could use it.`.replace("  ", " ");
  if (!cursor.replicated) return `${subscription} is not replicated in ${cluster}, so no cursor moves with it.`;
  const kept = state.snapshots?.get(snapshot)?.kept[subscription];
  const cursors = clusters.length > 1 ? "its cursors there" : "its cursor there";
  if (kept?.state === "used") return `${subscription}'s mark-delete has passed it in ${cluster}: an update moves ${cursors}.`;
  if (kept?.state === "evicted") return `It left the cache of ${subscription} unused, so no cursor moves with it.`;
  return `Once ${subscription}'s mark-delete passes it in ${cluster}, ${cursors} may move.`;
}

/**
 * @param {any} marker as received from the server, with `type`, `cluster`, `snapshot`, `subscription` and `json`
 * @param {any} state
 * @param {any} watched
 * @returns {string} empty for a marker of another kind
 */
export function markerSentence(marker, state, watched) {
  const parsed = typeof marker.json === "string" ? JSON.parse(marker.json) : marker.json;
  const titled = Object.values(parsed ?? {});
  const content = titled.length === 1 && typeof titled[0] === "object" ? titled[0] : parsed;
  const sentence = SENTENCES[marker.type]?.(marker, content, state, watched) ?? "";
  return marker.carried ? `${sentence} Its rule added ${marker.carried} ${marker.carried === 1 ? "number" : "numbers"}.` : sentence;
}
