/**
 * The dialog that shares a lab: the viewing link, the owner's link for its owner, and a copy for any viewer.
 * The token is in the fragment of the owner's link. Browsers never send a fragment.
 */

import { allOf } from "../render/dom.js";
import { keepToken } from "../wire/token.js";
import { required, setText } from "../render/dom.js";

export function makeShare(root, { window, requests, base, token, getState, say }) {
  const dialog = required(root, "dialog[data-part=share-dialog]");
  const done = required(dialog, "[data-part=share-done]");
  const field = (name) => required(dialog, `input[data-part=${name}]`);
  const link = window.location.origin + window.location.pathname;

  required(root, "[data-act=share]").addEventListener("click", open);
  for (const button of root.querySelectorAll("[data-act=take-copy]")) button.addEventListener("click", takeCopy);
  for (const button of allOf(dialog, "[data-copy]")) button.addEventListener("click", () => copy(field(button.dataset.copy)));

  function open() {
    const owner = getState().welcome?.owner === true;
    field("viewer-link").value = link;
    required(dialog, "[data-part=owner-part]").hidden = !owner;
    field("owner-link").value = owner ? `${link}#token=${token}` : "";
    setText(done, "");
    dialog.showModal();
  }

  async function copy(input) {
    input.select();
    try {
      await window.navigator.clipboard.writeText(input.value);
      setText(done, input.dataset.part === "owner-link" ? "The owner's link is copied. Treat it like a password." : "The viewer's link is copied.");
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
