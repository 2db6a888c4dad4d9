/** The text view, always in the page for screen readers; key T makes it visible. Updated at most once a second. */

import { mirrorOf } from "../model/mirror.js";
import { element, required } from "./dom.js";

const EVERY_MS = 1000;

export function makeMirror(document, root) {
  const box = required(root, "[data-part=mirror]");
  const words = required(root, "[data-part=words]");
  let written_ms = -Infinity;
  let shown = "";
  return {
    update(state, watched, wall_ms) {
      if (wall_ms - written_ms < EVERY_MS && state.playing) return;
      const sections = mirrorOf(state, watched);
      const key = JSON.stringify(sections);
      if (key === shown) return;
      shown = key;
      written_ms = wall_ms;
      words.replaceChildren(...sections.flatMap(({ title, lines }) => [element(document, "h3", { text: title }), element(document, "ul", {}, lines.map((line) => element(document, "li", { text: line })))]));
    },
    toggle() {
      box.classList.toggle("sr");
      const open = !box.classList.contains("sr");
      if (open) box.focus();
      return open;
    },
  };
}
