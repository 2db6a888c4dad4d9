/** The controls around the diagram of messages: kinds to show, spreading, pages of sessions, zoom, and the list as text. */

import { counted, seconds, whole } from "../../../model/format.js";
import { element, setText } from "../../../render/dom.js";
import { wordsOfMessage } from "../model/node_messages.js";

const FAMILIES = ["connect", "ping", "grant", "progress", "revoke", "leave"];
const LISTED_WORDS = 200;
const KEY_WORDS = "Left of a session’s line: until when the leader keeps it (indigo) and until when it keeps reading without a ping response (grey), dotted up to the timeout; crimson: between the two, two sessions may read one stream. Right: its leases, dashed while revoking. Ring around a tail: resent. Dashes: delayed. Fork: duplicated. Cross: lost. On the leader’s line: ring is a rebalance, diamond a commit.";

function makeButton(document, text, name, onclick) {
  return element(document, "button", { type: "button", "aria-label": name, title: name, text, onclick });
}

/** @param {Document} document @param {(name: string) => boolean} onToggle returns whether the kind is shown now */
export function makeKinds(document, onToggle) {
  const press = (name, button) => button.setAttribute("aria-pressed", String(onToggle(name)));
  const buttons = FAMILIES.map((name) => element(document, `button.kind-${name}`, { type: "button", "aria-pressed": "true", onclick: (event) => press(name, event.currentTarget), text: name }));
  return element(document, "span.kinds", { role: "group", "aria-label": "Messages shown" }, buttons);
}

/** @param {Document} document @param {() => boolean} onToggle returns whether time is to scale now */
export function makeSpread(document, onToggle) {
  const title = "Draw messages of one instant one below the other, or time to scale";
  return element(document, "button", { type: "button", "aria-pressed": "true", text: "spread instants", title, onclick: (event) => event.currentTarget.setAttribute("aria-pressed", String(!onToggle())) });
}

/** @param {Document} document @param {Object<string, () => void>} acts */
export function makeZoom(document, acts) {
  const button = (text, name, act) => makeButton(document, text, name, () => acts[act]());
  const buttons = [button("↑", "Earlier", "earlier"), button("↓", "Later", "later"), button("−", "Zoom out on time", "reduceTime"), button("now", "Follow latest", "followTime"), button("+", "Zoom in on time", "magnifyTime")];
  return element(document, "span.zoom", { role: "group", "aria-label": "Zoom of time" }, buttons);
}

/** Shows the sessions page by page. @param {Document} document @param {(sessions: number) => void} onTurn receives the number of sessions to move by */
export function makePager(document, onTurn) {
  let fit = 1;
  const [before, after] = [makeButton(document, "‹", "Sessions before", () => onTurn(-fit)), makeButton(document, "›", "Sessions after", () => onTurn(fit))];
  const place = element(document, "span", {});
  const node = element(document, "span.pager", {}, [before, place, after]);
  return {
    node,
    /** @param {{first: number, shown: number, count: number, fit: number}} columns */
    offer(columns) {
      const { first, shown, count } = columns;
      fit = columns.fit;
      node.hidden = count <= fit;
      setText(place, `${whole(first + 1)}–${whole(first + shown)} of ${counted(count, "session")}`);
      before.disabled = first === 0;
      after.disabled = first + fit >= count;
    },
  };
}

/** The messages as a list of texts, updated while it is open. @param {Document} document @param {{wake: () => void, onChoose: (seq: number) => void}} on */
export function makeListing(document, { wake, onChoose }) {
  const list = element(document, "ol", {});
  const node = element(document, "details.in-words", { ontoggle: () => wake() }, [element(document, "summary", { text: "As text" }), list]);
  let listed = "";
  const lineOf = (message) => element(document, "li", {}, [element(document, "button.plain", { type: "button", text: `${seconds(message.sent.at_us)} s: ${wordsOfMessage(message)}`, onclick: () => onChoose(message.seq) })]);
  return {
    node,
    /** @param {object[]} messages @param {string} key changes with the messages */
    update(messages, key) {
      const wanted = `${key}|${node.open}`;
      if (!node.open || wanted === listed) return;
      listed = wanted;
      const more = messages.length - LISTED_WORDS;
      list.replaceChildren(...messages.slice(0, LISTED_WORDS).map(lineOf), ...(more > 0 ? [element(document, "li.quiet", { text: `${whole(more)} more: zoom in to see them.` })] : []));
    },
  };
}

/** @param {Document} document @returns {HTMLElement} the legend of the diagram */
export const makeKey = (document) => element(document, "p.quiet.key", { text: KEY_WORDS });
