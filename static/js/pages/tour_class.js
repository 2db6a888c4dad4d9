/** The predictions of a class at a step of a tour: their number, and a histogram once the presenter reveals it. No name is sent. */

import { counted } from "../model/format.js";
import { histogramOf } from "../model/tour.js";
import { element, required, setText } from "../render/dom.js";

/**
 * @typedef {object} Step the step that is shown
 * @property {import("../model/tour.js").TourStep[]} steps
 * @property {number} at from 0
 * @property {import("../model/tour.js").Judge} judge
 */

/**
 * @param {Document} document
 * @param {HTMLElement} bar of the tour
 * @param {{reveal: (step: number) => void, onRoom: () => void}} on reveal: shows the predictions of a step, from 1
 */
export function makeTourClass(document, bar, on) {
  const box = required(bar, "[data-part=tour-class]");
  const [words, chart] = ["words", "chart"].map((part) => required(box, `[data-part=tour-class-${part}]`));
  const button = required(box, "button[data-act=tour-class-show]");
  /** @type {{presentation: import("../model/presentation.js").Presentation, role: string, drawn: string}} */
  const held = { presentation: { code: null }, role: "none", drawn: "" };
  button.addEventListener("click", () => held.presentation.predictions && on.reveal(held.presentation.predictions.step));

  /** @param {Step} step */
  function draw({ steps, at, judge }) {
    const { predictions, followers = 0 } = held.presentation;
    const ask = predictions && (predictions.step === at + 1 || predictions.step === at) ? (steps[predictions.step - 1]?.ask ?? null) : null;
    const answered = predictions?.step === at;
    const found = ask && predictions.counts ? histogramOf(ask, predictions.counts, judge, answered) : null;
    const others = found ? found.others + predictions.others : 0;
    const hidden = !ask || (answered && predictions.answers === 0);
    const key = JSON.stringify([hidden, held.role, predictions?.answers, followers, found, answered]);
    if (key === held.drawn) return;
    held.drawn = key;
    box.hidden = hidden;
    on.onRoom();
    if (hidden) return;
    setText(words, wordsOf(predictions.answers, followers, found, others, ask.unit));
    button.hidden = held.role !== "presenter" || found !== null || predictions.answers === 0;
    chart.hidden = found === null;
    chart.replaceChildren(...(found ? barsOf(document, found.bars) : []));
  }

  return {
    /** @param {import("../model/presentation.js").Presentation} presentation @param {string} role */
    take: (presentation, role) => Object.assign(held, { presentation, role }),
    draw,
    close() {
      box.hidden = true;
      held.drawn = "";
    },
  };
}

function wordsOf(answers, followers, found, others, unit) {
  if (!found) return `${answers} of ${counted(followers, "follower")} predicted.`;
  return `${counted(answers, "prediction")} of the class${unit ? `, in ${unit}` : ""}${others ? `; ${others} more are not shown` : ""}`;
}

/** @param {Document} document @param {import("../model/tour.js").Bar[]} bars */
function barsOf(document, bars) {
  const most = Math.max(1, ...bars.map(({ count }) => count));
  return bars.map(({ label, count, right }) => {
    const bar = element(document, "span.class-bar", { "aria-hidden": "true" });
    bar.style.height = `${Math.round((count / most) * 100)}%`;
    const says = `${label}: ${counted(count, "prediction")}${right ? ", as in this run" : ""}`;
    return element(document, right ? "li.right" : "li", { "aria-label": says }, [element(document, "span.class-room", {}, [element(document, "b", { text: String(count) }), bar]), element(document, "span.class-label", { text: right ? `✓ ${label}` : label })]);
  });
}
