/** Lets the browser save a file. */

import { element } from "./dom.js";

/** An address of a file is kept this long, since the browser reads it after the click. */
const KEPT_MS = 10_000;

/** @param {Document} document @param {import("./dom.js").PageWindow} window @param {Blob} file @param {string} name */
export function saveFile(document, window, file, name) {
  const address = window.URL.createObjectURL(file);
  element(document, "a", { href: address, download: name }).click();
  window.setTimeout(() => window.URL.revokeObjectURL(address), KEPT_MS);
}
