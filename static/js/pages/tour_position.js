/** The field in which a position is predicted: a click in the lane or the arrow keys choose one, or it is typed. */

import { required, setText } from "../render/dom.js";

const STEPS = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, Home: -Infinity, End: Infinity };

/**
 * @param {HTMLElement} form
 * @param {HTMLInputElement} field
 * @param {() => void} focus puts the focus into the field, where that does not open a keyboard over the picture
 */
export function makePositionField(form, field, focus) {
  const [box, hint, chosen] = ["position", "hint", "chosen"].map((part) => required(form, `[data-part=tour-${part}]`));
  const coarse = form.ownerDocument.defaultView.matchMedia("(pointer: coarse)");
  /** @type {{cluster: string, predictions: import("./protocol_view.js").Predictions} | null} */
  let held = null;

  function show() {
    if (!held) return;
    const words = held.predictions.words(held.cluster, field.value.trim());
    setText(chosen, words && `${field.value.trim()}, ${words}`);
    held.predictions.show(words ? { cluster: held.cluster, position: field.value.trim() } : null);
  }

  function choose(position) {
    field.value = position;
    show();
    focus();
  }

  const move = (by) => held && choose(held.predictions.beside(held.cluster, field.value.trim(), by));

  for (const [name, by] of /** @type {[string, number][]} */ ([["earlier", -1], ["later", 1]])) required(form, `button[data-act=position-${name}]`).addEventListener("click", () => move(by));
  field.addEventListener("input", show);
  field.addEventListener("keydown", (event) => {
    const by = STEPS[event.key];
    if (!held || by === undefined || event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    move(by);
  });

  return {
    /** @param {string} cluster @param {import("./protocol_view.js").Predictions} predictions */
    begin(cluster, predictions) {
      held = { cluster, predictions };
      setText(hint, coarse.matches ? `Tap a message in the log of ${cluster}.` : `Click a message in the log of ${cluster}, or choose with ← and →. Enter answers.`);
      box.hidden = false;
      predictions.ask({ cluster, choose });
      show();
    },
    end() {
      held?.predictions.ask(null);
      held = null;
      box.hidden = true;
      setText(chosen, "");
    },
  };
}
