/**
 * A look inside one thing: a marker (JSON as PIP-33 prints it, its bytes, where it travelled) or a message (where it lies, who
 * has let it go). A panel at the side, not a modal one: the diagram stays in view.
 */

import { bytes, seconds } from "../model/format.js";
import { isAcknowledged } from "../protocols/pulsar/model/acknowledged.js";
import { identityOf, originOf } from "../protocols/pulsar/model/cells.js";
import { positionOf } from "../protocols/pulsar/model/positions.js";
import { wordsOfRow } from "../model/row_words.js";
import { topicView } from "../model/state.js";
import { element, putParts, required } from "./dom.js";

export function makeInspector(document, root, { getMarker, onSeek, onFollow }) {
  const panel = required(root, "[data-part=inspector]");
  const title = required(root, "[data-part=inspector-title]");
  const body = required(root, "[data-part=inspector-body]");
  let asked = 0;
  required(panel, "[data-act=inspector-close]").addEventListener("click", close);
  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault(); // the page's own Esc then leaves the light as it is
    close();
  });
  let came_from = null;

  function close() {
    panel.hidden = true;
    came_from?.focus?.();
  }

  function open(heading, nodes) {
    title.textContent = heading;
    body.replaceChildren(...nodes);
    if (panel.hidden) came_from = document.activeElement;
    panel.hidden = false;
    panel.focus();
  }

  async function showMarker(number) {
    const mine = ++asked;
    open(`Marker ${number}`, [element(document, "p.quiet", { text: "Asking the server…" })]);
    let marker;
    try {
      marker = await getMarker(number);
    } catch (reason) {
      if (mine === asked) open(`Marker ${number}`, [element(document, "p", { text: `${reason.message} ${reason.hint ?? ""}` })]);
      return;
    }
    if (mine !== asked) return;
    open(`${marker.type.replace(/_/g, " ")} · marker ${number}`, markerNodes(document, marker, onSeek));
  }

  function showMessage(state, watched, cluster, index) {
    asked += 1;
    const store = state.cells[`${cluster}/${watched.topic}`];
    const at = index - store.first;
    const identity = identityOf(store.columns, at);
    const producer = state.names.list[store.columns.producer[at]];
    const number = store.columns.number[at];
    const size = store.columns.size[at];
    const lines = watched.lanes.map((name) => lineOfCluster(document, state, watched, name, identity));
    open(`${producer}/${number}`, [
      element(document, "p", { text: `From ${watched.clusters[originOf(store.columns.kind[at])] ?? "?"}${size > 1 ? `, a batch of ${size} messages in one entry` : ""}.` }),
      element(document, "table.places", {}, lines),
      element(document, "button.plain", { type: "button", text: `Step along ${producer}/${number}`, onclick: () => onFollow(producer, number) }),
    ]);
  }
  /** Anything else, as nodes made by who knows it. */
  function showFacts(heading, nodes) {
    asked += 1;
    open(heading, nodes);
  }

  return { showMarker, showMessage, showFacts, close, isOpen: () => !panel.hidden };
}

function markerNodes(document, marker, onSeek) {
  const json = typeof marker.json === "string" ? marker.json : JSON.stringify(marker.json, null, 2);
  const hex = (marker.bytes_hex ?? "").replace(/../g, "$& ").trim();
  return [
    element(document, "p", { text: `Written in ${marker.cluster}; ${bytes((marker.bytes_hex ?? "").length / 2)}.` }),
    element(document, "pre.json", { text: json, tabindex: "0", "aria-label": "the marker as JSON" }),
    element(document, "h3", { text: "Bytes" }),
    element(document, "pre.hex", { text: hex, tabindex: "0", "aria-label": "the marker's bytes" }),
    element(document, "h3", { text: "Where it travelled" }),
    element(document, "ol.travels", {}, (marker.travels ?? []).map((row) => travelLine(document, row, onSeek))),
  ];
}

function travelLine(document, row, onSeek) {
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
  const where = places.map((index) => positionOf(topic.ledgers, index) || `entry ${index}`).join(", ");
  const standing = places.length === 0 ? "not here" : !cursor ? "no subscription" : isAcknowledged(cursor, places[0]) ? "acknowledged" : heldBy(cursor, places[0]);
  return element(document, "tr", {}, [element(document, "th", { text: cluster, scope: "row" }), element(document, "td", { text: where }), element(document, "td", { text: standing })]);
}

function heldBy(cursor, index) {
  const holder = Object.entries(cursor.consumers).find(([, consumer]) => consumer.in_hand.includes(index));
  if (holder) return `with ${holder[0]}`;
  return index < cursor.read_index ? "dispatched" : "not read";
}
