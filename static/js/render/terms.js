/** Makes headings that link to the glossary. A page contains the terms in a script element (`{% glossary_terms %}`). */

import { element } from "./dom.js";

/** @type {WeakMap<Document, {page: string, terms: Object<string, [anchor: string, says: string]>}>} */
const catalogues = new WeakMap();

function catalogueOf(document) {
  if (!catalogues.has(document)) {
    const text = document.getElementById("glossary-terms")?.textContent;
    catalogues.set(document, text ? JSON.parse(text) : { page: "", terms: {} });
  }
  return catalogues.get(document);
}

/**
 * @param {Document} document
 * @param {string} text
 * @param {string} label of the term, where the text is longer than that
 * @returns {HTMLAnchorElement | string} a link with the definition as its tooltip; the text alone when there is no such term
 */
export function termLink(document, text, label = text) {
  const { page, terms } = catalogueOf(document);
  const term = terms[label.toLowerCase()];
  if (!term) return text;
  const [anchor, says] = term;
  return element(document, "a.term", { href: `${page}#${anchor}`, target: "_blank", rel: "noopener", title: `${says} (Opens the glossary in a new tab.)`, text });
}

/** Writes a heading that links to a term; the link is kept while the text stays the same. */
export function setTermHeading(document, node, text, label) {
  if (node.textContent !== text || !node.querySelector("a")) node.replaceChildren(termLink(document, text, label));
}

/**
 * A heading that is a name or value of this run, such as a cluster, and not a glossary term.
 * @typedef {{name: string}} NameHead
 */

/**
 * Makes the heading cells of a table's columns.
 * @param {Document} document
 * @param {(string | [text: string, label: string] | NameHead)[]} heads
 * @returns {HTMLElement[]}
 */
export const columnHeads = (document, heads) => heads.map((head) => headCell(document, "col", head));

/**
 * @param {Document} document
 * @param {"col" | "row"} scope
 * @param {string | [text: string, label: string] | NameHead} head
 * @param {string} classes such as ".words"
 * @returns {HTMLElement}
 */
export function headCell(document, scope, head, classes = "") {
  if (typeof head === "object" && "name" in head) return element(document, `th${classes}`, { scope, "data-name": true, text: head.name });
  const [text, label] = typeof head === "string" ? [head, head] : head;
  return element(document, `th${classes}`, { scope }, [termLink(document, text, label)]);
}

/**
 * Updates `now` to equal `next` and keeps equal nodes, so that a link in a table can be clicked although the table changes during playback.
 * @param {Element} box
 * @param {Element[]} next
 */
export function renew(box, next) {
  const now = [...box.children];
  if (now.length !== next.length) box.replaceChildren(...next);
  else now.forEach((node, at) => renewOne(node, next[at]));
}

function renewOne(now, next) {
  if (now.isEqualNode(next)) return;
  const alike = now.nodeName === next.nodeName && next.children.length > 0 && next.children.length === next.childNodes.length && now.cloneNode(false).isEqualNode(next.cloneNode(false));
  if (alike && now.children.length === now.childNodes.length) renew(now, [...next.children]);
  else now.replaceWith(next);
}
