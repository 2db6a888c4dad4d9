/** The bar of a guided tour in the footer: title, text, place in the tour, and the question of a step. */

import { element, required, setText } from "../render/dom.js";
import { makePositionField } from "./tour_position.js";

/**
 * @param {Document} document
 * @param {HTMLElement} bar
 * @param {{step: (at: number) => void, answer: (typed: string) => void, next: () => void, previous: () => void}} on
 */
export function makeTourBar(document, bar, on) {
  const [name, count, title, text, revealed, status, pips] = ["name", "count", "title", "text", "revealed", "status", "pips"].map((part) => required(bar, `[data-part=tour-${part}]`));
  const next = required(bar, "button[data-act=tour-next]");
  const previous = required(bar, "button[data-act=tour-previous]");

  return {
    ...makeQuestionOf(bar, on),
    begin(tour) {
      setText(name, tour.title);
      const buttonOf = (step, at) => element(document, "button", { type: "button", "aria-label": `Step ${at + 1}: ${step.title}`, title: step.title, onclick: () => on.step(at) });
      pips.replaceChildren(...tour.steps.map((step, at) => element(document, "li", {}, [buttonOf(step, at)])));
    },
    /**
     * @param {import("../model/tour.js").TourStep[]} steps
     * @param {number} at
     * @param {string} answer the revealed answer to the question of the step before, or ""
     */
    show(steps, at, answer) {
      setText(count, `${at + 1} of ${steps.length}`);
      setText(title, steps[at].title);
      setText(revealed, answer);
      revealed.hidden = !answer;
      setText(text, steps[at].text);
      previous.disabled = at === 0;
      [...pips.children].forEach((pip, number) => {
        pip.classList.toggle("past", number < at);
        const button = required(pip, "button");
        if (number === at) button.setAttribute("aria-current", "step");
        else button.removeAttribute("aria-current");
      });
    },
    /** @param {string} answer the answer to the question of the step before, when more of the run is known */
    reveal: (answer) => setText(revealed, answer),
    /** What the lab does for the tour now, and the words of the button that goes on. */
    say(words, button) {
      setText(status, words);
      setText(next, button);
    },
    focus: () => next.focus({ preventScroll: true }),
  };
}

/** The form in which the learner predicts a figure. */
function makeQuestionOf(bar, on) {
  const form = required(bar, "form[data-part=tour-ask]");
  const [question, unit, problem] = ["question", "unit", "problem"].map((part) => required(form, `[data-part=tour-${part}]`));
  const field = required(form, "input[name=guess]");
  const focus = () => {
    if (!bar.ownerDocument.defaultView.matchMedia("(pointer: coarse)").matches) field.focus({ preventScroll: true }); // on a phone the keyboard would cover the picture
  };
  const position = makePositionField(form, field, focus);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    on.answer(field.value);
  });
  // the shortcuts of the page do not work while the learner types; a presenter remote should
  field.addEventListener("keydown", (event) => {
    const act = { PageDown: on.next, PageUp: on.previous }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  function refuse(words) {
    setText(problem, words);
    problem.hidden = !words;
    if (!words) return field.removeAttribute("aria-invalid");
    field.setAttribute("aria-invalid", "true");
    return field.select();
  }

  return {
    /**
     * Shows the question of a step, or none.
     * @param {import("../model/tour.js").TourStep["ask"]} asked
     * @param {string | null | undefined} guess
     * @param {import("./protocol_view.js").Predictions | null} [predictions] of the picture, in which a position is chosen
     */
    ask(asked, guess, predictions = null) {
      form.hidden = asked === null;
      position.end();
      if (asked === null) return;
      setText(question, asked.question);
      setText(unit, asked.unit);
      field.value = guess ?? "";
      field.inputMode = asked.kind === "number" ? "numeric" : "text";
      field.placeholder = asked.kind === "number" ? "" : "ledger:entry";
      refuse("");
      if (asked.kind === "position" && predictions) position.begin(asked.cluster, predictions);
      focus();
    },
    /** Says what is wrong with the entry; "" for nothing. */
    refuse,
    typed: () => field.value,
  };
}
