/**
 * Helpers for elements: all elements are made and found here.
 * Texts are set by textContent and attributes by setAttribute, so markup cannot be injected.
 */

/**
 * The window of a page with the browser's globals, such as `window.AbortController`.
 * @typedef {Window & typeof globalThis} PageWindow
 */

/**
 * The class of the element with this name: "canvas" is an HTMLCanvasElement.
 * @template {string} Name
 * @typedef {Name extends keyof HTMLElementTagNameMap ? HTMLElementTagNameMap[Name] : HTMLElement} Named
 */

/**
 * The type of what a selector finds, by the element's name in its last part: "form input[name=at]" finds an HTMLInputElement, ".note" an HTMLElement.
 * @template {string} Selector
 * @typedef {Selector extends `${string} ${infer Last}` ? Selected<Last> : Selector extends `${infer Name}[${string}` ? Selected<Name> :
 *   Selector extends `${infer Name}.${string}` ? Named<Name> : Selector extends `${infer Name}#${string}` ? Named<Name> : Named<Selector>} Selected
 */

/**
 * @template {string} Tag
 * @param {Document} document
 * @param {Tag} tag may contain classes: "p.quiet"
 * @param {object} properties attributes; `text` is the text, functions are listeners by event name (`onclick`), false and null are left out
 * @param {(Node | string)[]} children
 * @returns {Selected<Tag>}
 */
export function element(document, tag, properties = {}, children = []) {
  const [name, ...classes] = tag.split(".");
  const node = document.createElement(name);
  if (classes.length) node.className = classes.join(" ");
  for (const [key, value] of Object.entries(properties)) {
    if (value === false || value === null || value === undefined) continue;
    if (key === "text") node.textContent = value;
    else if (typeof value === "function") node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  node.append(...children);
  return /** @type {Selected<Tag>} */ (node);
}

const SVG = "http://www.w3.org/2000/svg";

/** @param {Document} document @param {string} name @param {object} attributes @param {string} text @returns {SVGElement} */
export function svgNode(document, name, attributes, text = "") {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
  if (text) node.textContent = text;
  return node;
}

/** Puts parts ("text", {strong}, {harm}, {soft}) into a node as text and inline elements. */
export function putParts(document, node, parts) {
  node.replaceChildren(
    ...parts.map((part) => {
      if (typeof part === "string") return part;
      if (part.strong !== undefined) return element(document, "b", { text: part.strong });
      if (part.harm !== undefined) return element(document, "b.harm-text", { text: part.harm });
      return element(document, "span.soft", { text: part.soft ?? "" });
    }),
  );
}

/** Sets text only when it differs, so that a screen reader does not read the same text twice. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/**
 * Finds an element that the page must have.
 * @template {string} Selector
 * @param {ParentNode} root
 * @param {Selector} selector starts with the element's name where its own properties are used: "input[data-part=now]"
 * @returns {Selected<Selector>}
 * @throws {Error} with the selector when the page lacks it, because template and script do not match
 */
export function required(root, selector) {
  const node = found(root, selector);
  if (!node) throw new Error(`The page has no “${selector}”.`);
  return node;
}

/**
 * Finds the first matching element, if there is one.
 * @template {string} Selector
 * @param {ParentNode} root
 * @param {Selector} selector
 * @returns {Selected<Selector> | null}
 */
export const found = (root, selector) => /** @type {Selected<Selector> | null} */ (root.querySelector(selector));

/**
 * Finds all matching elements, in the document's order.
 * @template {string} Selector
 * @param {ParentNode} root
 * @param {Selector} selector
 * @returns {Selected<Selector>[]}
 */
export const allOf = (root, selector) => /** @type {Selected<Selector>[]} */ ([...root.querySelectorAll(selector)]);

/** Lets the browser save a file. */

/** An address of a file is kept this long, since the browser reads it after the click. */
const KEPT_MS = 10_000;

/** @param {Document} document @param {PageWindow} window @param {Blob} file @param {string} name */
export function saveFile(document, window, file, name) {
  const address = window.URL.createObjectURL(file);
  element(document, "a", { href: address, download: name }).click();
  window.setTimeout(() => window.URL.revokeObjectURL(address), KEPT_MS);
}
