/** The bar of a guided tour in the footer: title, text, place in the tour, and the question of a step. */

import { cutAtTerms, PAGE_PARTS, partsShown } from "../model/tour.js";
import { element, required, setText } from "../render/dom.js";
import { termLink } from "../render/terms.js";
import { makePositionField } from "./tour_player.js";

/**
 * @param {Document} document
 * @param {HTMLElement} bar
 * @param {{step: (at: number) => void, answer: (typed: string) => void, next: () => void, previous: () => void,
 *   explain: (shown: import("./protocol_view.js").Explained | null) => void, onRoom: () => void}} on explain: how the picture explains the step; onRoom: other parts of the page are shown
 */
export function makeTourBar(document, bar, on) {
  const parts = makePartsShown(bar, on.onRoom);
  const end = makeEnd(bar);
  const [name, count, title, text, revealed, status, pips] = ["name", "count", "title", "text", "revealed", "status", "pips"].map((part) => required(bar, `[data-part=tour-${part}]`));
  const next = required(bar, "button[data-act=tour-next]");
  const previous = required(bar, "button[data-act=tour-previous]");

  return {
    ...makeQuestionOf(bar, on),
    begin(tour) {
      end.begin(tour);
      parts.begin();
      setText(name, tour.title);
      pips.replaceChildren(...tour.steps.map((step, at) => pipOf(document, step, at, on.step)));
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
      const { note, at_us } = steps[at];
      text.replaceChildren(...linkedText(document, steps[at]));
      parts.show(steps, at);
      on.explain({ note: note && { ...note, at_us }, ...parts.picture() });
      end.show(at === steps.length - 1);
      previous.disabled = at === 0;
      [...pips.children].forEach((pip, number) => markPip(pip, number, at));
    },
    /** @param {string} answer the answer to the question of the step before, when more of the run is known */
    reveal: (answer) => setText(revealed, answer),
    /** What the lab does for the tour now, and the words of the button that goes on. */
    say(words, button) {
      setText(status, words);
      setText(next, button);
    },
    focus: () => next.focus({ preventScroll: true }),
    /** Whether the whole page is shown at every step. */
    isWhole: parts.isWhole,
    /** @param {boolean} whole shows the whole page at every step, or only the parts of the step */
    setWhole(whole) {
      if (whole === parts.isWhole()) return;
      parts.setWhole(whole);
      on.explain(parts.picture());
    },
    /** The whole page is shown again, and nothing is explained in the picture. */
    end() {
      parts.end();
      on.explain(null);
    },
  };
}

/** The text of a step, whose terms are links to the glossary. */
const linkedText = (document, { text, terms }) => cutAtTerms(text, terms).map((part) => (typeof part === "string" ? part : termLink(document, part.text, part.label)));

/** The mark of a step, which leads to it. */
function pipOf(document, { title }, at, onStep) {
  return element(document, "li", {}, [element(document, "button", { type: "button", "aria-label": `Step ${at + 1}: ${title}`, title, onclick: () => onStep(at) })]);
}

function markPip(pip, number, at) {
  pip.classList.toggle("past", number < at);
  const button = required(pip, "button");
  if (number === at) button.setAttribute("aria-current", "step");
  else button.removeAttribute("aria-current");
}

/** The buttons of the last step: they lead to the next tour or to all tours, and end this one. */
function makeEnd(bar) {
  const [onward, leave, next] = ["tour-onward", "tour-leave", "tour-next"].map((act) => required(bar, `button[data-act=${act}]`));
  const others = required(bar, "a[data-part=tour-others]");
  let following = null; // the tour that follows this one

  return {
    begin(tour) {
      following = tour.next ?? null;
      if (following) setText(onward, `Next tour: ${following.title}`);
    },
    /** @param {boolean} last whether the last step is shown */
    show(last) {
      leave.hidden = last;
      onward.hidden = !last || following === null;
      others.hidden = !last || following !== null;
      next.classList.toggle("action", onward.hidden);
    },
  };
}

/** The parts of the page that a tour shows: named in an attribute of the page, which the stylesheet reads. */
function makePartsShown(bar, onRoom) {
  const root = bar.closest(".lab");
  const button = required(bar, "button[data-act=tour-whole]");
  /** @type {string[] | null} */
  let shown = null;
  let whole = false;

  function write() {
    const wanted = shown === null || whole ? undefined : shown.join(" ");
    button.hidden = shown === null || PAGE_PARTS.every((part) => shown.includes(part));
    button.setAttribute("aria-pressed", String(whole));
    if (root.dataset.shows === wanted) return;
    if (wanted === undefined) delete root.dataset.shows;
    else root.dataset.shows = wanted;
    onRoom();
  }

  return {
    isWhole: () => whole,
    /** How the picture is shown beside these parts. */
    picture: () => ({ large: shown !== null && !whole && shown.length * 2 < PAGE_PARTS.length, forecast: shown === null || whole || shown.includes("forecast") }),
    begin() {
      whole = false;
    },
    show(steps, at) {
      shown = partsShown(steps, at);
      write();
    },
    setWhole(next) {
      whole = next;
      write();
    },
    end() {
      shown = null;
      write();
    },
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
