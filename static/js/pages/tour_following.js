/** The predictions of a class at a step of a tour: their number, and a histogram once the presenter reveals it. No name is sent. */

import { counted } from "../model/format.js";
import { histogramOf, judged, readGuess } from "../model/tour.js";
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

/** The tour's bar on the page of a follower: the presenter's step, and the learner's own predictions. The lab is not touched. */


/**
 * @typedef {object} FollowingParts
 * @property {HTMLElement} root
 * @property {HTMLElement} bar
 * @property {ReturnType<import("./tour_player.js").makeTourBar>} view
 * @property {() => Promise<{steps: import("../model/tour.js").TourStep[], title: string} | null>} fetchTour
 * @property {() => void} onRoom called when the bar appeared or disappeared
 * @property {() => import("./protocol_view.js").Predictions | null} predictions of the protocol's picture
 * @property {(step: number, guess: string) => void} send sends a prediction to the presenter's room
 * @property {() => void} uncover scrolls the newest end of the logs into view
 */
/**
 * @typedef {object} Followed the tour that is followed
 * @property {import("../model/tour.js").TourStep[]} steps
 * @property {number} at the step shown, from 0
 * @property {boolean} asked whether its question is shown
 */

/** @param {FollowingParts} parts */
export function makeTourFollowing(parts) {
  const { view } = parts;
  /** @type {{parts: FollowingParts, open: Followed | null, guesses: Map<number, string | null>, covered: boolean, wanted: {step: number, asks: boolean} | null, asking: boolean}} guesses: predictions by step, also while the presenter reloads; covered: the sheet may cover the newest end of the logs, which the next drawing moves into view; wanted: the presenter's step, while the tour is requested */
  const held = { parts, open: null, guesses: new Map(), covered: false, wanted: null, asking: false };
  return {
    /** Shows the presenter's step, or none. @param {{step: number, asks: boolean} | null} place */
    follow(place) {
      held.wanted = place;
      if (place === null) close(held);
      else if (held.open) show(held, place);
      else open(held);
    },
    isOpen: () => held.open !== null,
    /** Keeps a prediction. @param {string} typed */
    answer(typed) {
      if (!held.open) return;
      const { guess, problem } = readGuess(held.open.steps[held.open.at].ask.kind, typed);
      view.refuse(problem);
      if (problem || guess === null) return;
      keep(held, guess);
      view.say(`Your prediction: ${guess}.`, "Next");
    },
    /** The run's figure, when more of the run is known. */
    update() {
      if (!held.open) return;
      view.reveal(answerBefore(held));
      if (held.covered) parts.uncover();
      held.covered = false;
    },
    /** Sends the prediction of the present step again, after the connection was lost. */
    resend() {
      const guess = held.open && held.guesses.get(held.open.at);
      if (guess && held.open.asked) parts.send(held.open.at + 1, guess);
    },
    /** @returns {{steps: import("../model/tour.js").TourStep[], at: number} | null} */
    place: () => held.open,
  };
}

async function open(held) {
  if (held.asking) return;
  const { root, bar, view, fetchTour, onRoom } = held.parts;
  held.asking = true;
  const tour = await fetchTour();
  held.asking = false;
  if (!tour || held.wanted === null) return;
  held.open = { steps: tour.steps, at: -1, asked: false };
  view.begin(tour);
  bar.hidden = false;
  bar.classList.add("following");
  root.classList.add("telling", "touring");
  show(held, held.wanted);
  onRoom();
}

function show(held, { step, asks }) {
  const { open, guesses, parts } = held;
  const { view } = parts;
  const at = Math.min(step, open.steps.length) - 1;
  if (at !== open.at) {
    keepTyped(held);
    Object.assign(open, { at, asked: false });
    view.ask(null, null);
    markGuess(held);
    view.show(open.steps, at, answerBefore(held));
    view.say("", "Next");
  }
  const { ask } = open.steps[at];
  if (!ask || !asks || open.asked) return;
  open.asked = true;
  view.ask(ask, guesses.get(at), parts.predictions());
  parts.onRoom(); // the question takes room from the picture
  held.covered = true;
}

/** The answer to the question of the step before, judged as on the presenter's page. */
function answerBefore({ open, guesses, parts }) {
  return open.at > 0 ? judged(open.steps[open.at - 1].ask, guesses.get(open.at - 1), parts.predictions()) : "";
}

/** Marks a predicted position in the picture while the next step shows the run's. */
function markGuess({ open, guesses, parts }) {
  const before = open.at > 0 ? open.steps[open.at - 1].ask : null;
  const guess = guesses.get(open.at - 1);
  parts.predictions()?.show(before?.kind === "position" && guess ? { cluster: before.cluster, position: guess } : null);
}

function keep(held, guess) {
  held.guesses.set(held.open.at, guess);
  held.parts.send(held.open.at + 1, guess);
}

/** The presenter goes on: what the learner has typed so far is the prediction. */
function keepTyped(held) {
  const { open, guesses, parts } = held;
  if (!open.asked || guesses.get(open.at)) return;
  const { guess, problem } = readGuess(open.steps[open.at].ask.kind, parts.view.typed());
  if (!problem && guess !== null) keep(held, guess);
}

function close(held) {
  if (!held.open) return;
  const { root, bar, onRoom } = held.parts;
  held.parts.view.ask(null, null);
  held.parts.predictions()?.show(null);
  held.open = null;
  bar.hidden = true;
  bar.classList.remove("following");
  root.classList.remove("telling", "touring");
  onRoom();
}
