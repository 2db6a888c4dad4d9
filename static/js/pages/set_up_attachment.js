/**
 * The attachment for a change request: the answer on one printed page, then every run and the scenario.
 * It is this page with a layout for paper, so that both always say the same; the browser prints it or saves it as PDF.
 */

import { whatIfTitle, whatIfWords } from "../model/answer.js";
import { inOrder } from "../model/variants.js";
import { allOf, element, found, required } from "../render/dom.js";
import { bestInShort } from "../render/what_if_table.js";

/** The class while it is printed: the plots then have the width of paper. */
const CLASS = "printing";
/** Settings on the first page; the appendix has all. */
const BEST_SHOWN = 3;

/**
 * @param {object} parts
 * @param {Document} parts.document
 * @param {HTMLElement} parts.root
 * @param {import("../render/dom.js").PageWindow} parts.window
 * @param {() => boolean} parts.isForm whether the set-up is the form's
 * @param {() => string} parts.getUrl the path of the answer's experiment
 * @param {() => import("../model/answer.js").Answer} parts.getAnswer
 * @param {() => void} parts.onLayout draws the plots at the width that they have now
 */
export function makeAttachment({ document, root, window, isForm, getUrl, getAnswer, onLayout }) {
  const printed = required(root, "[data-part=printed]");
  const numbers = /** @type {HTMLDetailsElement} */ (required(root, "[data-part=numbers]"));

  function make() {
    const part = (title, text) => [element(document, "h3", { text: title }), element(document, "p", { text })];
    printed.replaceChildren(
      ...helps(document, getAnswer().what_if),
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

/** What helps most, with the settings to paste. @returns {HTMLElement[]} only the progress, or why there is none, until every change was run */
function helps(document, what_if) {
  if (!what_if) return [];
  const best = what_if.done && what_if.order.length ? bestInShort(document, inOrder(what_if, 0), what_if, BEST_SHOWN) : [];
  return [element(document, "h3", { text: whatIfTitle(what_if) }), ...best, element(document, "p", { text: whatIfWords(what_if) })];
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
