/**
 * The part of the share dialog that makes an animation: a form, and while frames are made a bar with progress and Cancel.
 * The dialog closes meanwhile, so that the page can be used.
 */

import { planOf, planWords, RATES, SPEEDS, WIDTHS_PX } from "../model/animation.js";
import { bytes, seconds } from "../model/format.js";
import { element, required, setText } from "../render/dom.js";
import { speedText } from "../transport/speeds.js";

/** The range that the form first shows ends at the instant shown and has this length, µs. */
const RANGE_US = 4_000_000;
const RATE = 10;
const WIDTH_PX = 960;

/**
 * @param {HTMLElement} root
 * @param {HTMLDialogElement} dialog
 * @param {any} parts of the page
 * @param {() => Promise<any>} load gives the functions of `pictures.js`
 */
export function makeShareAnimation(root, dialog, parts, load) {
  const { document, window, getState, say } = parts;
  const form = required(dialog, "[data-part=animation]");
  const field = (name) => /** @type {HTMLInputElement} */ (required(form, `[data-part=animation-${name}]`));
  const size = required(form, "[data-part=animation-size]");
  const start = required(form, "button[data-act=animation]");
  const bar = makeBar(root, window);

  fillChoices(document, window, form, field);
  form.addEventListener("input", showSize);
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.target === start) return;
    event.preventDefault(); // it would close the dialog
    make();
  });
  start.addEventListener("click", make);

  const plan = () => planOf({ from: field("from").value, to: field("to").value, speed: Number(field("speed").value), rate: Number(field("rate").value), width: Number(field("width").value) }, endOf(getState()));

  /** @returns {boolean} whether an animation can be made as asked */
  function showSize() {
    try {
      const is_owner = getState().welcome?.owner === true;
      setText(size, is_owner ? planWords(plan()) : "Only the owner can move a lab to other instants. Take a copy to make an animation of it.");
      start.disabled = !is_owner || bar.busy();
    } catch (reason) {
      setText(size, reason.message);
      start.disabled = true;
    }
    return !start.disabled;
  }

  async function make() {
    if (!showSize()) return;
    const [planned, kind] = [plan(), field("kind").value];
    dialog.close();
    const work = bar.begin(planned.instants.length);
    try {
      const file = await (await load()).animation(planned, kind, work);
      say({ error: `The animation is saved: ${planWords(planned)}, ${bytes(file.size)}.`, tone: "plain" });
    } catch (reason) {
      if (!work.signal.aborted) say({ error: `No animation was made. ${reason.message}` });
    } finally {
      bar.end();
    }
  }

  return {
    /** Fills in the range up to the instant shown. */
    open() {
      const { at_us } = getState();
      const from_us = Math.max(0, at_us - RANGE_US);
      field("from").value = seconds(from_us);
      field("to").value = seconds(at_us > 0 ? at_us : Math.min(RANGE_US, endOf(getState())));
      showSize();
    },
  };
}

/** The last instant that an animation may show: the scenario's end, or how far the run is if that is later. */
const endOf = ({ welcome, view }) => Math.max(welcome?.until_us ?? 0, view?.furthest_us ?? 0);

function fillChoices(document, window, form, field) {
  const fill = (name, values, chosen, words) => field(name).replaceChildren(...values.map((value) => element(document, "option", { value, text: words(value), selected: value === chosen })));
  fill("speed", SPEEDS, 1, speedText);
  fill("rate", RATES, RATE, String);
  fill("width", WIDTHS_PX, WIDTH_PX, (width) => `${width} px`);
  if (!("VideoEncoder" in window)) required(form, "option[value=webm]").remove();
}

/** The bar with progress and Cancel. */
function makeBar(root, window) {
  const bar = required(root, "[data-part=making]");
  const words = required(bar, "[data-part=making-words]");
  const progress = required(bar, "progress[data-part=making-progress]");
  let abort = null;
  required(bar, "button[data-act=making-cancel]").addEventListener("click", () => abort?.abort());
  return {
    busy: () => abort !== null,
    /** @param {number} frames @returns {{signal: AbortSignal, onFrame: (done: number) => void}} */
    begin(frames) {
      abort = new window.AbortController();
      bar.hidden = false;
      progress.max = frames;
      const onFrame = (done) => {
        progress.value = done;
        setText(words, `Animation: ${done} of ${frames} frames`);
      };
      onFrame(0);
      return { signal: abort.signal, onFrame };
    },
    end() {
      abort = null;
      bar.hidden = true;
    },
  };
}
