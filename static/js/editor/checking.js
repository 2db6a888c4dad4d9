/** Checks the text on the server a moment after the last change, and again later when the server could not answer. */

import { debounced } from "../pages/debounced.js";

/** Pause after the last keystroke, ms. */
const PAUSE_MS = 300;

/** After a check that failed, the text is checked again in this time, ms. */
const AGAIN_MS = 5000;

/**
 * @typedef {{problems: import("./problems.js").Problem[], count: number, scenario: {title: string, seed: number, until_us: number, commands: number} | null, text: string}} Checked
 * @param {object} parts
 * @param {Window} parts.window
 * @param {ReturnType<import("../wire/http.js").makeRequests>} parts.requests
 * @param {string} parts.address
 * @param {number} parts.limit characters of a text
 * @param {() => string} parts.getText
 * @param {(checked: Checked) => void} parts.onChecked
 * @param {(reason: Error) => void} parts.onTrouble
 * @returns {() => void} call it after each change
 */
export function makeCheck({ window, requests, address, limit, getText, onChecked, onTrouble }) {
  let timer = 0;
  let asked = "";
  const check = debounced(
    window,
    PAUSE_MS,
    async () => {
      asked = getText();
      return asked.length > limit ? tooLong(asked, limit) : requests.post(address, { yaml: asked });
    },
    (answer) => onChecked({ ...answer, text: asked }),
    (reason) => {
      onTrouble(reason);
      timer = window.setTimeout(check, AGAIN_MS);
    },
  );
  return () => {
    window.clearTimeout(timer);
    check();
  };
}

const tooLong = (text, limit) => ({
  problems: [{ line: null, column: null, path: "", message: `the text has ${text.length} characters`, hint: `at most ${limit} are read` }],
  count: 1,
  scenario: null,
});
