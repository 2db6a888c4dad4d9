/**
 * The attachment for a change request: the answer on one printed page, then every run and the scenario.
 * It is this page with a layout for paper, so that both always say the same; the browser prints it or saves it as PDF.
 */

import { allOf, element, found, required } from "../render/dom.js";

/** The class while it is printed: the plots then have the width of paper. */
const CLASS = "printing";

/**
 * @param {object} parts
 * @param {Document} parts.document
 * @param {HTMLElement} parts.root
 * @param {import("../render/dom.js").PageWindow} parts.window
 * @param {() => boolean} parts.isForm whether the set-up is the form's
 * @param {() => string} parts.getUrl the path of the answer's experiment
 * @param {() => void} parts.onLayout draws the plots at the width that they have now
 */
export function makeAttachment({ document, root, window, isForm, getUrl, onLayout }) {
  const printed = required(root, "[data-part=printed]");
  const numbers = /** @type {HTMLDetailsElement} */ (required(root, "[data-part=numbers]"));

  function make() {
    const part = (title, text) => [element(document, "h3", { text: title }), element(document, "p", { text })];
    printed.replaceChildren(
      ...(isForm() ? part("Set-up", setUpWords(root)) : part("Set-up", "The scenario is in the appendix.")),
      ...part("Repeat it", `python -m spark_reports sweep experiment.yaml --out results, with experiment.yaml from ${window.location.origin}${getUrl()}download/yaml/`),
      ...part("Address", window.location.href),
    );
    const was_open = numbers.open;
    numbers.open = true;
    root.classList.add(CLASS);
    onLayout();
    window.addEventListener("afterprint", () => restore(was_open), { once: true });
    window.print();
  }

  function restore(was_open) {
    numbers.open = was_open;
    root.classList.remove(CLASS);
    onLayout();
  }

  required(root, "button[data-act=attach]").addEventListener("click", make);
}

/** @param {HTMLElement} root @returns {string} the fields of the form with their values; those that choose for themselves are left out */
function setUpWords(root) {
  const words = allOf(root, ".set-field").map((box) => {
    const field = /** @type {any} */ (found(box, "input, select"));
    const value = field.selectedOptions ? field.selectedOptions[0]?.textContent : field.value;
    return field.disabled || !value ? "" : `${required(box, "label").textContent}: ${value}`;
  });
  return `${words.filter(Boolean).join("; ")}.`;
}
