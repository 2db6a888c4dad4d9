/** The list of the visitor's own experiments or audits, and the notice of an error at the foot of a page. */

import { element, found, required, setText } from "../render/dom.js";

/** Most tasks that the server is asked about at once. */
const ASKED_MOST = 500;

/**
 * Fills the list of the tasks whose tokens this browser stores.
 * @param {object} parts
 * @param {Document} parts.document
 * @param {HTMLElement} parts.root has the address of the list in `data-mine`
 * @param {ReturnType<import("../wire/http.js").makeRequests>} parts.requests
 * @param {ReturnType<import("../wire/task_token.js").taskTokens>} parts.tokens
 * @param {string} parts.noun "experiment" or "audit"
 */
export async function listOwn({ document, root, requests, tokens, noun }) {
  const own = tokens.own().slice(0, ASKED_MOST);
  const answer = own.length ? await requests.post(root.dataset.mine, { [`${noun}s`]: own }) : { tasks: [], gone: [] };
  for (const id of answer.gone) tokens.forget(id);
  setText(required(root, "[data-part=status]"), answer.tasks.length ? "Only this browser has the list; there are no accounts." : `No ${noun}s in this browser yet.`);
  required(root, "ol[data-part=list]").replaceChildren(
    ...answer.tasks.map((one) => element(document, "li", {}, [element(document, "a", { href: one.url, text: one.title }), " ", element(document, "span.soft", { text: one.words })])),
  );
  found(root, "[data-part=list]")?.toggleAttribute("data-ready", true);
}

/** @param {HTMLElement} failure @returns {(reason: any) => void} shows an error with its remedy in `failure` */
export function saying(failure) {
  return (reason) => {
    failure.textContent = `${reason.message} ${reason.hint ?? ""}`;
    failure.hidden = false;
  };
}
