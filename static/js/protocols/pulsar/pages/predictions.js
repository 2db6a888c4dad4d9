/** Lets the viewer choose a position in a log for a question of a tour: by click in its lane, or step by step with keys. */

import { choiceAt, choiceBeside, choicesIn, coverSame, indexIn } from "../model/predictions.js";

/**
 * @param {{getState: () => any, getWatched: () => object, wake: () => void}} tools
 */
export function makePredictions({ getState, getWatched, wake }) {
  /** @type {import("../../../pages/lab_view.js").Asked | null} */
  let asked = null;
  /** @type {{cluster: string, position: string} | null} */
  let mark = null;
  const choices = (cluster) => choicesIn(getState(), getWatched(), cluster);
  const indexOf = (cluster, position) => indexIn(getState(), getWatched(), cluster, position);
  const choiceOf = (thing) => (asked?.cluster === thing.cluster ? choiceAt(choices(thing.cluster), thing.index) : undefined);

  return {
    ask(next) {
      asked = next;
      wake();
    },
    show(next) {
      mark = next;
      wake();
    },
    beside: (cluster, position, by) => choiceBeside(choices(cluster), indexOf(cluster, position), by)?.position ?? position,
    words(cluster, position) {
      const index = indexOf(cluster, position);
      return index === null ? "" : (choiceAt(choices(cluster), index)?.words ?? "");
    },
    same: (cluster, one, other) => coverSame(getState(), getWatched(), cluster, one, other),
    /** Takes a click on an entry. @returns {boolean} whether it was an answer */
    take(thing) {
      const choice = choiceOf(thing);
      if (choice) asked.choose(choice.position);
      return choice !== undefined;
    },
    /** @returns {string | null} what a click on an entry would choose; null when it would choose nothing */
    say(thing) {
      const choice = choiceOf(thing);
      return choice ? `predict ${choice.position}, ${choice.words}` : null;
    },
    /** @returns {import("../render/prediction.js").Prediction | null} */
    shown: () => (asked || mark ? { asked: asked?.cluster ?? null, cluster: mark?.cluster ?? null, index: mark && indexOf(mark.cluster, mark.position) } : null),
  };
}
