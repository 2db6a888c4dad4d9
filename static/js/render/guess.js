/** The field for a guess of the number of duplicates: a button on a card that becomes a text field. */

import { element } from "./dom.js";

/**
 * @param {Document} document
 * @param {string} title of the scenario
 * @param {number | null} guess
 * @param {(typed: string) => boolean} keep stores the guess; false when it is not a number
 * @param {() => void} done
 */
export function guessField(document, title, guess, keep, done) {
  const home = element(document, "span.guess");
  const open = element(document, "button", { type: "button", text: guess === null ? "guess first" : "change", "aria-label": `Guess the number of duplicates: ${title}`, onclick: begin });
  home.append(open);

  function begin() {
    const input = element(document, "input", { inputmode: "numeric", maxlength: 9, value: guess ?? "", "aria-label": `How many duplicates will there be: ${title}`, autocomplete: "off" });
    const form = element(document, "form", {}, [input, " duplicates ", element(document, "button", { type: "submit", text: "Keep" })]);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      event.stopPropagation();
      if (keep(input.value)) done();
      else {
        input.setAttribute("aria-invalid", "true");
        input.select();
      }
    });
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      home.replaceChildren(open);
      open.focus();
    });
    home.replaceChildren(form);
    input.select();
    input.focus();
  }

  return home;
}
