/** Writes a scenario's text as pieces that belong to fields: those of the focused field are highlighted, wrong ones marked. */

import { element } from "./dom.js";

/**
 * @param {Document} document
 * @param {HTMLElement} home a <pre>
 * @param {[string, string][][]} lines pieces [text, field]
 * @param {Set<string>} wrong fields with a problem
 */
export function writeYaml(document, home, lines, wrong) {
  home.replaceChildren(
    ...lines.flatMap((pieces) => [
      ...pieces.map(([text, field]) => (field ? element(document, wrong.has(field) ? "span.wrong" : "span", { text, "data-piece": field }) : text)),
      "\n",
    ]),
  );
}

/** Scrolls a box, and only this box, so that a piece in it is visible. */
function showIn(box, piece) {
  const [around, place] = [box.getBoundingClientRect(), piece.getBoundingClientRect()];
  if (place.top < around.top || place.bottom > around.bottom) box.scrollTop += place.top - around.top - around.height / 3;
}

/** Highlights the pieces of one field. */
export function lightPieces(home, field) {
  for (const piece of home.querySelectorAll(".lit")) piece.classList.remove("lit");
  const pieces = field ? [...home.querySelectorAll("[data-piece]")].filter((piece) => piece.dataset.piece === field) : [];
  for (const piece of pieces) piece.classList.add("lit");
  if (pieces.length) showIn(home.parentElement, pieces[0]);
}
