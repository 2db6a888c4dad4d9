/**
 * Inspector content for a marker or a message, as nodes.
 * A marker is shown with a sentence that says what it means, as JSON as PIP-33 prints it, as bytes, and with its route; a message with its positions and acknowledgements.
 */

import { bytes, seconds } from "../../../model/format.js";
import { element, putParts } from "../../../render/dom.js";
import { termLink } from "../../../render/terms.js";
import { isAcknowledged } from "../model/acknowledged.js";
import { identityOf, originOf } from "../model/cells.js";
import { positionOf } from "../model/positions.js";
import { topicView } from "../model/topics.js";

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
