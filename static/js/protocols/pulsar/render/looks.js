/**
 * Inspector content for a marker or a message, as nodes.
 * A marker is shown with a sentence that says what it means, as JSON as PIP-33 prints it, as bytes, and with its route; a message with its positions and acknowledgements.
 */

import { bytes, seconds } from "../../../model/format.js";
import { isAcknowledged } from "../model/acknowledged.js";
import { identityOf, markerKind, originOf } from "../model/cells.js";
import { positionOf } from "../model/positions.js";
import { fullName, shortName } from "../model/snapshot_names.js";
import { topicView } from "../model/topics.js";
import { element, putParts } from "../../../render/dom.js";
import { termLink } from "../../../render/terms.js";

/**
 * @param {Document} document
 * @param {import("../../../model/state.js").LabState & import("../model/folds.js").PulsarState} state
 * @param {object} watched
 * @param {{cluster: string, index: number}} thing
 * @param {(producer: string, number: number) => void} onFollow
 * @returns {{heading: string, nodes: Node[], producer: string, number: number}}
 */
export function messageLook(document, state, watched, { cluster, index }, onFollow) {
  const store = state.cells[`${cluster}/${watched.topic}`];
  const at = index - store.first;
  const identity = identityOf(store.columns, at);
  const producer = state.names.list[store.columns.producer[at]];
  const number = store.columns.number[at];
  const size = store.columns.size[at];
  const lines = watched.lanes.map((name) => lineOfCluster(document, state, watched, name, identity));
  const nodes = [
    element(document, "p", { text: `From ${watched.clusters[originOf(store.columns.kind[at])] ?? "?"}${size > 1 ? `, a batch of ${size} messages in one entry` : ""}.` }),
    element(document, "table.places", {}, lines),
    element(document, "button.plain", { type: "button", text: `Step by events of ${producer}/${number}`, onclick: () => onFollow(producer, number) }),
  ];
  return { heading: `${producer}/${number}`, nodes, producer, number };
}

/**
 * @param {Document} document
 * @param {object} marker as received from the server
 * @param {{onSeek: (row: object) => void, wordsOfRow: (row: object) => Array<string | object>, meaning: string}} given meaning: the marker's sentence
 * @returns {Node[]}
 */
export function markerNodes(document, marker, given) {
  const json = typeof marker.json === "string" ? marker.json : JSON.stringify(marker.json, null, 2);
  const hex = (marker.bytes_hex ?? "").replace(/../g, "$& ").trim();
  return [
    element(document, "p.meaning", { text: given.meaning }),
    element(document, "p.quiet", { text: `Written in ${marker.cluster}; ${bytes((marker.bytes_hex ?? "").length / 2)}.` }),
    element(document, "pre.json", { text: json, tabindex: "0", "aria-label": "the marker as JSON" }),
    element(document, "h3", {}, [termLink(document, "Bytes")]),
    element(document, "pre.hex", { text: hex, tabindex: "0", "aria-label": "the marker's bytes" }),
    element(document, "h3", {}, [termLink(document, "Route")]),
    element(document, "ol.travels", {}, (marker.travels ?? []).map((row) => travelLine(document, row, given))),
  ];
}

function travelLine(document, row, { onSeek, wordsOfRow }) {
  const words = element(document, "span");
  putParts(document, words, wordsOfRow(row));
  return element(document, "li", {}, [element(document, "button.event", { type: "button", onclick: () => onSeek(row) }, [element(document, "time", { text: seconds(row.at_us) }), words])]);
}

function lineOfCluster(document, state, watched, cluster, identity) {
  const store = state.cells[`${cluster}/${watched.topic}`];
  const topic = topicView(state, cluster, watched.topic);
  const places = [];
  for (let at = 0; store && at < store.count; at++) if (store.columns.kind[at] < 100 && identityOf(store.columns, at) === identity) places.push(store.first + at);
  const cursor = topic?.subscriptions?.[watched.subscription];
  const absent = topic && (!store || store.first > topic.first_kept) ? "not loaded" : "not here";
  const where = places.map((index) => positionOf(topic.ledgers, index) || `entry ${index}`).join(", ");
  const ack_state = places.length === 0 ? absent : !cursor ? "no subscription" : isAcknowledged(cursor, places[0]) ? "acknowledged" : heldBy(cursor, places[0]);
  return element(document, "tr", {}, [element(document, "th", { text: cluster, scope: "row" }), element(document, "td", { text: where }), element(document, "td", { text: ack_state })]);
}

function heldBy(cursor, index) {
  const holder = Object.entries(cursor.consumers).find(([, consumer]) => consumer.unacked.includes(index));
  if (holder) return `delivered to ${holder[0]}, not acked`;
  return index < cursor.read_index ? "dispatched" : "not read";
}

/** What a marker means, in one or two sentences with its own positions. The inspector shows them before JSON and bytes. */

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

/** Opens the inspector for an entry in the diagram, a glyph in the time diagram or a row of the list. */

/** @param {import("../../../pages/lab_view.js").Tools} tools */
export function makeLooks({ document, requests, base, getState, getWatched, link, lights, inspector, follow, wordsOfRow }) {
  const given = { onSeek: (row) => link.seekSeq(row.seq), wordsOfRow };
  const written = (marker) => ({ term: "marker", heading: `${marker.type.replace(/_/g, " ")} · marker ${marker.number}`, nodes: markerNodes(document, marker, { ...given, meaning: markerSentence(marker, getState(), getWatched()) }) });

  function showMarker(number) {
    inspector.showAnswer(`Marker ${number}`, () => requests.get(`${base}marker/${number}.json`), (marker) => written({ ...marker, number }), { marker: number });
    lights.marker(number);
  }

  function showThing(thing) {
    if (typeof thing.marker === "number") {
      showMarker(thing.marker);
      return;
    }
    const store = getState().cells[`${thing.cluster}/${getWatched().topic}`];
    if (!store || !(thing.index >= store.first && thing.index < store.first + store.count)) return; // a presenter may look at an entry that this page does not hold
    const { heading, nodes, producer, number } = messageLook(document, getState(), getWatched(), thing, follow);
    inspector.showFacts(heading, nodes, "message", thing);
    lights.message(producer, number);
  }

  return { showMarker, showThing };
}

/** Describes one entry of a log for display beside the pointer: "web/98, from us-west, 192:373, acknowledged". */

const MARKERS = { 110: "request", 111: "response", 112: "snapshot marker", 113: "update" };

/**
 * @param {import("../../../model/state.js").LabState & import("../model/folds.js").PulsarState} state
 * @param {object} watched
 * @param {{cluster: string, index: number}} thing
 * @returns {string}
 */
export function wordsOfThing(state, watched, { cluster, index }) {
  const store = state.cells[`${cluster}/${watched.topic}`];
  const topic = topicView(state, cluster, watched.topic);
  const at = index - (store?.first ?? 0);
  if (!store || !topic || at < 0 || at >= store.count) return "";
  const kind = store.columns.kind[at];
  const where = positionOf(topic.ledgers, index);
  const origin = watched.clusters[originOf(kind)];
  if (kind >= 100) {
    const snapshot = store.columns.snapshot[at];
    return [`${MARKERS[markerKind(kind)]}${snapshot >= 0 ? ` of ${fullName(state, snapshot)}` : ""}`, `written in ${origin}`, where].filter(Boolean).join(", ");
  }
  const cursor = topic.subscriptions?.[watched.subscription];
  const holder = Object.entries(cursor?.consumers ?? {}).find(([, consumer]) => consumer.unacked.includes(index));
  const ack_state = holder ? `delivered to ${holder[0]}, not acked` : isAcknowledged(cursor, index) ? "acknowledged here" : "not acknowledged here";
  const size = store.columns.size[at];
  return [`${state.names.list[store.columns.producer[at]]}/${store.columns.number[at]}`, size > 1 ? `${size} messages` : "", `from ${origin}`, where, cursor ? ack_state : ""].filter(Boolean).join(", ");
}
