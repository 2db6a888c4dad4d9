/** The pictures in the dialog that shares a lab. The script that makes them is loaded when the first one is wanted. */

import { required } from "../render/dom.js";
import { makeShareAnimation } from "./share_animation.js";

/**
 * @param {HTMLElement} root
 * @param {HTMLDialogElement} dialog
 * @param {any} parts of the page: document, window, getState, getWatched, drawNow…
 * @param {(words: string) => void} tell shows what was done, or why not
 */
export function makeSharePictures(root, dialog, parts, tell) {
  let makers = null;

  /** The functions of `pictures.js`. */
  async function load() {
    await import(root.dataset.pictures);
    makers ??= globalThis.failoverLabPictures(root, parts);
    return makers;
  }

  async function save(kind) {
    tell("");
    try {
      tell(await (await load())[kind]());
    } catch (reason) {
      tell(`The picture could not be made: ${reason.message}`);
    }
  }

  for (const kind of ["png", "svg"]) required(dialog, `[data-act=picture-${kind}]`).addEventListener("click", () => save(kind));
  return makeShareAnimation(root, dialog, parts, load);
}
