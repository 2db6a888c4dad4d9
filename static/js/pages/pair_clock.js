/** The clock of two runs: plays, pauses and seeks both labs together. */

import { seconds } from "../model/format.js";
import { required, setText } from "../render/dom.js";

const LOOK_EVERY_MS = 100;
/** Steps of the slider, as fine as a pixel of a wide screen. */
const STEPS = 2000;

/**
 * @param {object} parts
 * @param {Document} parts.document
 * @param {HTMLElement} parts.root
 * @param {import("../render/dom.js").PageWindow} parts.window
 * @param {any[]} parts.labs the two labs' pages
 * @param {number} parts.until_us end of the clock
 */
export function makePairClock({ document, root, window, labs, until_us }) {
  const bar = required(root, "[data-part=steering]");
  const scrub = /** @type {HTMLInputElement} */ (required(bar, "input[data-part=scrub]"));
  const shown = required(bar, "output[data-part=clock]");
  const button = required(bar, "button[data-act=play]");
  let asked_us = -1;
  bar.hidden = false;
  scrub.max = String(STEPS);

  const at_us = () => labs[0].getState().at_us;
  const playing = () => labs.some((lab) => lab.getState().playing);

  function seek(to_us) {
    asked_us = Math.max(0, Math.min(until_us, Math.round(to_us)));
    for (const lab of labs) lab.link.seek(asked_us);
    write(asked_us);
  }

  /** Both labs pause at their own instant, so the second goes to that of the first. */
  function pause() {
    for (const lab of labs) lab.link.pause();
    window.setTimeout(() => seek(at_us()), 2 * LOOK_EVERY_MS);
  }

  function toggle() {
    if (playing()) pause();
    else for (const lab of labs) lab.link.play(1);
  }

  function write(us) {
    setText(shown, `${seconds(us)} s`);
    scrub.value = String(Math.round((us / until_us) * STEPS));
  }

  scrub.addEventListener("input", () => seek((Number(scrub.value) / STEPS) * until_us));
  button.addEventListener("click", toggle);
  document.addEventListener("keydown", (event) => {
    if (event.key !== " " || event.target instanceof window.HTMLElement && event.target.closest("button, input, a, summary")) return;
    event.preventDefault();
    toggle();
  });
  /** Both time panels show the longer of the two spans on the shorter of the two axes. */
  function shareAxis() {
    const axes = labs.map((lab) => lab.timeAxis()).filter(Boolean);
    if (axes.length < labs.length) return;
    const shared = { span_us: Math.max(...axes.map(({ span_us }) => span_us)), x1: Math.min(...axes.map(({ x1 }) => x1)) };
    for (const lab of labs) lab.shareTimeAxis(shared);
  }

  window.setInterval(() => {
    shareAxis();
    setText(button, playing() ? "Pause" : "Play");
    if (playing() && at_us() >= until_us) pause();
    if (at_us() === asked_us) asked_us = -1;
    if (playing() || asked_us < 0) write(at_us());
  }, LOOK_EVERY_MS);
  return { seek };
}
