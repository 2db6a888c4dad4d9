/** The tour's bar on the page of a follower: the presenter's step, and the learner's own predictions. The lab is not touched. */

import { judged, readGuess } from "../model/tour.js";

/**
 * @typedef {object} FollowingParts
 * @property {HTMLElement} root
 * @property {HTMLElement} bar
 * @property {ReturnType<import("./tour_bar.js").makeTourBar>} view
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
