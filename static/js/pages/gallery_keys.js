/** The keyboard in the gallery: / focuses the search, Escape clears it, arrows move between cards, Enter opens. */

import { neighbour } from "../layout/neighbours.js";

/**
 * @param {Document} document
 * @param {HTMLInputElement} search
 * @param {() => HTMLElement[]} shown the open buttons of the visible cards, in reading order
 * @param {() => void} showAll
 */
export function listenInGallery(document, search, shown, showAll) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = /** @type {HTMLElement} */ (event.target);
    const typing = target.matches("input, textarea, select");
    if (event.key === "/" && !typing) {
      event.preventDefault();
      search.select();
      search.focus();
    } else if (event.key === "Escape" && target === search) {
      showAll();
    } else if (event.key === "ArrowDown" && target === search) {
      event.preventDefault();
      shown()[0]?.focus();
    } else if (target.matches(".card .open")) {
      walk(event, shown());
    }
  });

  function walk(event, buttons) {
    const at = buttons.indexOf(event.target);
    const next = buttons[neighbour(buttons.map((button) => button.closest(".card").getBoundingClientRect()), at, event.key)];
    if (next) {
      event.preventDefault();
      next.focus();
    } else if (event.key === "ArrowUp") {
      event.preventDefault();
      search.focus();
    }
  }
}
