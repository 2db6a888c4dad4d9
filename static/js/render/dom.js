/**
 * The only helper for elements. Text enters by textContent; attributes by setAttribute; there is no way in for markup.
 */

/**
 * @param {Document} document
 * @param {string} tag may carry classes: "p.quiet"
 * @param {object} properties attributes; `text` is text, functions are listeners by event name (`onclick`), false and null are left out
 * @param {(Node | string)[]} children
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

/** Sets text only when it differs, so that a screen reader is not told the same twice. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** @returns {HTMLElement} @throws {Error} naming what the page lacks: a template and a script that do not fit */
export function required(root, selector) {
  const node = root.querySelector(selector);
  if (!node) throw new Error(`The page has no “${selector}”.`);
  return node;
}
