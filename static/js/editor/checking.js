/** Checks the text on the server a moment after the last change, and again later when the server could not answer; then shows the picture and figures of its run. */

import { seconds } from "../model/format.js";
import { outcomeParts } from "../model/played.js";
import { debounced } from "../wire/http.js";
import { putParts, setText } from "../render/dom.js";
import { paintPicture } from "../protocols/light_table.js";
import { readTheme } from "../render/theme.js";

/** Pause after the last keystroke, ms. */
const PAUSE_MS = 300;

/** After a check that failed, the text is checked again in this time, ms. */
const AGAIN_MS = 5000;

/** Pause after a check without problems before the text is run for its outcome, ms. */
const OUTCOME_MS = 600;

/** Height of the picture of the run, px. */
const PICTURE_HEIGHT_PX = 150;

/**
 * @typedef {{problems: import("./ace_editor.js").Problem[], count: number, scenario: {title: string, seed: number, until_us: number, commands: number} | null, text: string}} Checked
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

/**
 * The picture and the figures of the run of the text as it is. Those of an earlier text are pale until the next arrive.
 * @param {object} parts
 * @param {Document} parts.document
 * @param {import("../render/dom.js").PageWindow} parts.window
 * @param {ReturnType<import("../wire/http.js").makeRequests>} parts.requests
 * @param {string} parts.address
 * @param {(name: string) => any} parts.part of the page
 * @param {() => string} parts.getText
 * @returns {{changed: () => void, checked: (valid: boolean, text: string) => void}} call `changed` after each change, `checked` after each check
 */
export function makeOutcome({ document, window, requests, address, part, getText }) {
  const home = part("outcome-home");
  const canvas = part("outcome-picture");
  const shown = { text: "", picture: null };
  let asked = "";
  const ask = debounced(window, OUTCOME_MS, () => requests.post(address, { yaml: asked }), take, onTrouble);

  function say(words) {
    home.hidden = false;
    home.classList.remove("older");
    putParts(document, part("outcome-words"), words);
  }

  /** @param {Error & {hint?: string}} reason */
  function onTrouble(reason) {
    if (asked !== getText()) return;
    say([["Not shown:", reason.message, reason.hint].filter(Boolean).join(" ")]);
  }

  function take({ picture, failovers, unavailable }) {
    if (asked !== getText()) return; // its own check follows
    Object.assign(shown, { text: asked, picture: picture ?? null });
    if (unavailable) say([`${unavailable} Run opens it as a lab.`]);
    else say(failovers.length ? outcomeParts({ failovers }, null) : ["No failover in this run."]);
    paint();
  }

  function paint() {
    const { picture } = shown;
    canvas.hidden = !picture;
    const words = picture ? `${picture.lanes ? picture.lanes.map((lane) => lane.cluster).join(", ") : "The group"} at ${seconds(picture.at_us)} s` : "";
    setText(part("outcome-at"), words);
    const width = home.clientWidth;
    if (!picture || !width) return;
    paintPicture(canvas, picture, readTheme(window.getComputedStyle(document.documentElement)), { ratio: window.devicePixelRatio || 1, width: width - 2, height: PICTURE_HEIGHT_PX });
    canvas.setAttribute("aria-label", picture.lanes ? `The logs of ${words}` : words);
  }

  new window.ResizeObserver(paint).observe(home);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  return {
    changed: () => home.classList.toggle("older", getText() !== shown.text),
    checked(valid, text) {
      if (!valid || text !== shown.text) home.classList.toggle("older", shown.text !== "");
      if (!valid || text === shown.text) return;
      asked = text; // not the text at the time of the request: a newer one may have problems, and its own check says so
      ask();
    },
  };
}
