/**
 * The dialog that shares a lab: the viewing link, a link that holds the whole run, the owner's link for its owner, files, and a copy.
 * The token is in the fragment of the owner's link, the run in that of its link. Browsers never send a fragment.
 */

import { LOCAL_ONLY, sharedOrigin } from "../model/shared_origin.js";
import { searchOf } from "../model/view_address.js";
import { allOf, required, setText } from "../render/dom.js";
import { fragmentOf, LONGEST_LINK } from "../wire/text_link.js";
import { keepToken } from "../wire/token.js";
import { makeEmbedField } from "./share_embed.js";
import { makeSharePictures } from "./share_pictures.js";

const COPIED = {
  "owner-link": "The owner's link is copied. Treat it like a password.",
  "viewer-link": "The viewer's link is copied.",
  "run-link": "The link to the run is copied.",
  "embed-code": "The embed code is copied.",
};

/** @param {HTMLElement} root @param {any} parts `getView` returns what the page shows: {panel, selection} */
export function makeShare(root, parts) {
  const { window, requests, base, token, getState, getView, say } = parts;
  const dialog = required(root, "dialog[data-part=share-dialog]");
  const done = required(dialog, "[data-part=share-done]");
  const field = (name) => required(dialog, `input[data-part=${name}]`);
  const { origin, local_only } = sharedOrigin(window.location, root.dataset.sharedAddress);
  const link = origin + window.location.pathname;
  showLocalOnly(dialog, local_only);
  const embed = makeEmbedField(dialog, { link, getState, getView });
  const run_link = makeRunLink(root, dialog, { origin, requests, base, getView, say: (words) => setText(done, words) });

  required(root, "[data-act=share]").addEventListener("click", open);
  for (const button of root.querySelectorAll("[data-act=take-copy]")) button.addEventListener("click", takeCopy);
  for (const button of allOf(dialog, "[data-copy]")) button.addEventListener("click", () => copy(field(button.dataset.copy)));
  const animation = makeSharePictures(root, dialog, parts, (words) => setText(done, words));

  function open() {
    const owner = getState().welcome?.owner === true;
    field("viewer-link").value = link;
    for (const part of ["owner-part", "present-part"]) required(dialog, `[data-part=${part}]`).hidden = !owner;
    field("owner-link").value = owner ? `${link}#token=${token}` : "";
    setText(done, "");
    animation.open();
    embed.write();
    dialog.showModal();
    run_link.write();
  }

  async function copy(input) {
    input.select();
    try {
      await window.navigator.clipboard.writeText(input.value);
      setText(done, COPIED[input.dataset.part]);
    } catch {
      setText(done, "The browser does not let this page copy: the link is selected, copy it with the keyboard.");
    }
  }

  async function takeCopy() {
    try {
      const made = await requests.post(`${base}copy/`, { at_us: getState().at_us });
      keepToken(made.id, made.token, window);
      window.location.assign(`${made.url}#token=${made.token}`);
    } catch (reason) {
      dialog.close();
      say({ error: reason.message, hint: reason.hint });
    }
  }
}

/** Says in a dialog whether its addresses work on this computer only. @param {HTMLElement} dialog @param {boolean} local_only */
export function showLocalOnly(dialog, local_only) {
  const words = required(dialog, "[data-part=local-only]");
  words.hidden = !local_only;
  setText(words, local_only ? LOCAL_ONLY : "");
}

/** The field with the link to the run at the instant shown. */
function makeRunLink(root, dialog, { origin, requests, base, getView, say }) {
  const input = required(dialog, "input[data-part=run-link]");
  const button = required(dialog, "button[data-copy=run-link]");

  return {
    /** Makes the link. The server computes the digest of the run, which takes a moment in a long run. */
    async write() {
      input.value = input.placeholder = "";
      button.disabled = true;
      try {
        const run = await requests.get(`${base}run.json`);
        const made = origin + root.dataset.run + searchOf(getView()) + (await fragmentOf(JSON.stringify(run), "run"));
        const fits = made.length <= LONGEST_LINK;
        input.value = fits ? made : "";
        input.placeholder = fits ? "" : "Too long for a link: send the file of the run instead.";
        button.disabled = !fits;
      } catch (reason) {
        say(reason.message);
      }
    },
  };
}
