/** The tour's bar on the page of a follower: the presenter's step, and the learner's own predictions. The lab is not touched. */

import { readGuess, revealed } from "../model/tour.js";

/**
 * @typedef {object} FollowingParts
 * @property {HTMLElement} root
 * @property {HTMLElement} bar
 * @property {ReturnType<import("./tour_bar.js").makeTourBar>} view
 * @property {() => Promise<{steps: import("../model/tour.js").TourStep[], title: string} | null>} fetchTour
 * @property {() => void} onRoom called when the bar appeared or disappeared
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
  /** @type {{parts: FollowingParts, open: Followed | null, guesses: Map<number, string | null>, wanted: {step: number, asks: boolean} | null, asking: boolean}} guesses: predictions by step, also while the presenter reloads; wanted: the presenter's step, while the tour is requested */
  const held = { parts, open: null, guesses: new Map(), wanted: null, asking: false };
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
      held.guesses.set(held.open.at, guess);
      view.say(`Your prediction, ${guess}, is kept: the next step shows the run's figure.`, "Next");
    },
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
    const before = at > 0 ? open.steps[at - 1].ask : null;
    view.show(open.steps, at, before ? revealed(before, guesses.get(at - 1)) : "");
    view.say("", "Next");
    view.ask(null, null);
  }
  const { ask } = open.steps[at];
  if (!ask || !asks || open.asked) return;
  open.asked = true;
  view.ask(ask, guesses.get(at));
}

/** The presenter goes on: what the learner has typed so far is the prediction. */
function keepTyped({ open, guesses, parts }) {
  if (!open.asked || guesses.get(open.at)) return;
  const { guess, problem } = readGuess(open.steps[open.at].ask.kind, parts.view.typed());
  if (!problem) guesses.set(open.at, guess);
}

function close(held) {
  if (!held.open) return;
  const { root, bar, onRoom } = held.parts;
  held.open = null;
  bar.hidden = true;
  bar.classList.remove("following");
  root.classList.remove("telling", "touring");
  onRoom();
}
