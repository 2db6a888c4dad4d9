/** The text field for the visitor's own YAML: typed, pasted, dropped or chosen as a file. Problems link to their line and column. */

import { placeInText } from "../model/text_place.js";
import { required } from "../render/dom.js";
import { debounced } from "./debounced.js";

/** Pause after the last keystroke, ms. */
const PAUSE_MS = 300;

const NOTHING = { problems: [], failure: null, no_failure: "", title: "", validity: "", compared: false };

/**
 * @param {object} parts
 * @param {HTMLElement} parts.root
 * @param {import("../render/dom.js").PageWindow} parts.window
 * @param {ReturnType<import("../wire/http.js").makeRequests>} parts.requests
 * @param {string} parts.address of the request that reads a text
 * @param {(reading: any) => void} parts.onReading
 * @param {(reason: Error) => void} parts.onTrouble
 */
export function makeOwnText({ root, window, requests, address, onReading, onTrouble }) {
  const area = required(root, "textarea[data-part=text]");
  const file = required(root, "input[data-part=file]");
  let reading = NOTHING;
  const read = debounced(window, PAUSE_MS, () => requests.post(address, { yaml: area.value }), taken, onTrouble);

  area.addEventListener("input", read);
  area.addEventListener("dragover", (event) => event.preventDefault());
  area.addEventListener("drop", (event) => {
    event.preventDefault();
    take(event.dataTransfer.files[0]);
  });
  file.addEventListener("change", () => take(file.files[0]));

  async function take(given) {
    if (!given) return;
    area.value = await given.text();
    read();
    area.focus();
    area.setSelectionRange(0, 0);
  }

  function taken(answer) {
    reading = answer;
    if (answer.problems.length) area.setAttribute("aria-invalid", "true");
    else area.removeAttribute("aria-invalid");
    onReading(answer);
  }

  return {
    yaml: () => area.value,
    question: () => ({ yaml: area.value }),
    reading: () => reading,
    put: (text) => (area.value = text),
    /** Shows the text field. When it is empty, it starts with the form's YAML. */
    begin(text) {
      if (!area.value) area.value = text;
      read();
    },
    goTo(problem) {
      const { start, end } = placeInText(area.value, problem.line, problem.column);
      area.focus();
      area.setSelectionRange(start, end);
      const line_px = parseFloat(window.getComputedStyle(area).lineHeight);
      area.scrollTop = Math.max(0, (problem.line - 4) * line_px);
    },
  };
}
