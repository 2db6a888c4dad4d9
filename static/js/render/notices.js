/**
 * Shows refusals and errors as notices until dismissed, and lasting states as banners.
 * Lasting states are a lost connection, a violated check, a reached limit. Their banners disappear with the state.
 */

import { sentence } from "../model/format.js";
import { element, required } from "./dom.js";

const SHOWN = 3;

export function makeNotices(document, root) {
  const list = required(root, "[data-part=notices]");
  const banners = required(root, "[data-part=banners]");
  const shown = new Map();

  return {
    /** @param {{error: string, hint?: string, tone?: "harm" | "plain"}} notice */
    say({ error, hint = "", tone = "harm" }) {
      const close = element(document, "button.close", { type: "button", "aria-label": "dismiss", text: "×", onclick: () => item.remove() });
      const item = element(document, `li.notice.${tone}`, {}, [element(document, "p", {}, [element(document, "b", { text: sentence(error) }), hint ? ` ${sentence(hint)}` : ""]), close]);
      list.prepend(item);
      while (list.children.length > SHOWN) list.lastChild.remove();
    },
    /**
     * @param {string} name identifies the lasting state
     * @param {string | null} words null removes the banner
     * @param {"harm" | "plain"} tone
     * @param {{href: string, text: string} | null} link
     */
    banner(name, words, tone = "harm", link = null) {
      const old = shown.get(name);
      if (!words) {
        old?.remove();
        shown.delete(name);
        return;
      }
      if (old) {
        if (old.firstChild.textContent !== words) old.firstChild.textContent = words;
        return;
      }
      const made = element(document, `p.banner.${tone}`, {}, [element(document, "span", { text: words }), ...(link ? [" ", element(document, "a", { href: link.href, text: link.text })] : [])]);
      shown.set(name, made);
      banners.append(made);
    },
    clear: () => list.replaceChildren(),
  };
}
