/** Begins and ends a presentation, and shows its room code, large enough for the back row. */

import { spokenCode } from "../model/presentation.js";
import { counted } from "../model/format.js";
import { sharedOrigin } from "../model/shared_origin.js";
import { required, setText } from "../render/dom.js";
import { showLocalOnly } from "./share.js";

/**
 * @param {import("./presenting.js").PresentingParts} parts
 * @param {{begun: () => void, getPresentation: () => import("../model/presentation.js").Presentation}} on begun: this page becomes the presenter's
 */
export function makeRoom({ root, window, requests, base, token, say }, { begun, getPresentation }) {
  const share = required(root, "dialog[data-part=share-dialog]");
  const begin = required(share, "button[data-act=present]");
  const code = makeCodeDialog(root, window, end);
  begin.addEventListener("click", () => (getPresentation().code === null ? present() : show()));

  async function present() {
    begin.disabled = true;
    try {
      const opened = await requests.post(`${base}present/`, { token });
      begun();
      code.write({ code: opened.code, ends_at: opened.ends_at, followers: 0 });
      show();
    } catch (reason) {
      share.close();
      say({ error: reason.message, hint: reason.hint });
    }
    begin.disabled = false;
  }

  function show() {
    share.close();
    code.open();
  }

  async function end() {
    code.close();
    try {
      await requests.post(`${base}present/end/`, { token });
    } catch (reason) {
      say({ error: reason.message, hint: reason.hint });
    }
  }

  return {
    show,
    end,
    /** @param {import("../model/presentation.js").Presentation} presentation */
    update(presentation) {
      setText(begin, presentation.code === null ? "Present to a class" : "Show the room code");
      if (presentation.code === null) code.close();
      else code.write(presentation);
    },
  };
}

/** The dialog with the room code, its link, and the number of followers. */
function makeCodeDialog(root, window, end) {
  const dialog = required(root, "dialog[data-part=present-dialog]");
  const part = (name) => required(dialog, `[data-part=${name}]`);
  const address = required(dialog, "input[data-part=room-link]");
  const close = () => dialog.open && dialog.close();
  const acts = { "present-close": close, "present-stop": end, "room-copy": copy };
  for (const [act, run] of Object.entries(acts)) required(dialog, `[data-act=${act}]`).addEventListener("click", run);
  const { origin, local_only } = sharedOrigin(window.location, root.dataset.sharedAddress);
  const qr = required(dialog, "img[data-part=room-qr]");
  setText(part("room-site"), `${origin.replace(/^https?:\/\//, "")}${root.dataset.join}`);
  showLocalOnly(dialog, local_only);

  async function copy() {
    address.select();
    try {
      await window.navigator.clipboard.writeText(address.value);
      setText(part("room-done"), "The link is copied.");
    } catch {
      setText(part("room-done"), "The browser does not let this page copy: the link is selected, copy it with the keyboard.");
    }
  }

  return {
    close,
    open() {
      setText(part("room-done"), "");
      if (!dialog.open) dialog.showModal();
      required(dialog, "[data-act=present-close]").focus();
    },
    /** @param {import("../model/presentation.js").Presentation} presentation */
    write({ code, ends_at, followers }) {
      setText(part("room-code"), spokenCode(code));
      address.value = `${origin}${root.dataset.join}${code}/`;
      const picture = `${root.dataset.join}${code}/qr.svg?origin=${encodeURIComponent(origin)}`;
      if (qr.getAttribute("src") !== picture) qr.src = picture;
      const until = new Date(ends_at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
      setText(part("room-facts"), `${followers ? counted(followers, "follower") : "No followers yet"}. Open until ${until}.`);
    },
  };
}
