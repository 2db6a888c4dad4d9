/**
 * The live form: the server reads it a moment after each change.
 * Its YAML, the problems at their fields, the pairs of regions and the address are then updated. Typed text is never changed.
 */

import { found, required } from "../render/dom.js";
import { lightPieces, writeYaml } from "../render/yaml.js";
import { makeFields } from "./set_up_fields.js";
import { debounced } from "./debounced.js";

/** Pause after the last keystroke, ms. */
const PAUSE_MS = 180;

/**
 * @param {object} parts
 * @param {Document} parts.document
 * @param {HTMLElement} parts.root
 * @param {import("../render/dom.js").PageWindow} parts.window
 * @param {ReturnType<import("../wire/http.js").makeRequests>} parts.requests
 * @param {string} parts.address of the request that reads a form
 * @param {any} parts.first the server's reading in the page as delivered
 * @param {any[]} parts.lines of its YAML
 * @param {(reading: any) => void} parts.onReading
 * @param {(reason: Error) => void} parts.onTrouble
 */
export function makeForm({ document, root, window, requests, address, first, lines, onReading, onTrouble }) {
  const form = required(root, "form[data-part=form]");
  const pre = required(root, "[data-part=yaml]");
  const fields = makeFields(document, form, found(root, "[data-part=pairs]"));
  let reading = first;
  let yaml = pre.textContent;
  const read = debounced(window, PAUSE_MS, () => requests.get(`${address}?${fields.query()}`), take, onTrouble);

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    window.history.replaceState(null, "", fields.query() ? `?${fields.query()}` : window.location.pathname);
    read();
  });
  form.addEventListener("focusin", (event) => lightPieces(pre, nameOf(event.target)));
  form.addEventListener("focusout", () => lightPieces(pre, null));
  pre.addEventListener("click", (event) => fields.focus(/** @type {HTMLElement} */ (event.target).dataset?.piece));
  writeYaml(document, pre, lines, wrongFields(first));

  function take(answer) {
    reading = answer;
    yaml = answer.yaml;
    fields.take(answer);
    writeYaml(document, pre, answer.lines, wrongFields(answer));
    const active = /** @type {HTMLInputElement | null} */ (document.activeElement);
    lightPieces(pre, active?.form === form ? active.name : null);
    onReading(answer);
  }

  return {
    yaml: () => yaml,
    question: () => ({ query: fields.query() }),
    reading: () => reading,
    goTo: (problem) => fields.focus(problem.field),
  };
}

/** @param {EventTarget | null} target a field, or another element of the form, which has no name */
const nameOf = (target) => /** @type {HTMLInputElement} */ (target).name;

const wrongFields = (reading) => new Set(reading.problems.map((problem) => problem.field).filter(Boolean));
