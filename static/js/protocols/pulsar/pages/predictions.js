/** Lets the viewer choose a position in a log for a question of a tour: by click in its lane, or step by step with keys. */

import { indexOf, parsePosition, positionOf } from "../model/positions.js";
import { topicView } from "../model/topics.js";

/**
 * The positions of a log among which a viewer chooses where a mark-delete position will be: one after each message, and one before the first.
 * Markers are left out: a mark-delete position at a marker covers the same messages as the one before it.
 */

/**
 * @typedef {object} Choice
 * @property {number} index of the last entry that is covered; -1 before the first
 * @property {string} position `ledger:entry`
 * @property {string} words "up to shop/14"
 */

const POSITION = /^\d{1,12}:-?\d{1,12}$/;
const isMessage = (store, at) => store.columns.kind[at] < 100;

/** @returns {{topic: object, store: import("../model/cells.js").CellStore} | null} null while nothing of the log is held */
function logOf(state, watched, cluster) {
  const topic = topicView(state, cluster, watched.topic);
  const store = state.cells[`${cluster}/${watched.topic}`];
  return topic && store?.count && topic.ledgers.length ? { topic, store } : null;
}

/** @returns {Choice[]} oldest first */
export function choicesIn(state, watched, cluster) {
  const log = logOf(state, watched, cluster);
  if (!log) return [];
  const { topic, store } = log;
  const choices = store.first === 0 ? [{ index: -1, position: `${topic.ledgers[0][0]}:-1`, words: "before the first message" }] : [];
  for (let at = 0; at < store.count; at++) {
    const position = isMessage(store, at) ? positionOf(topic.ledgers, store.first + at) : "";
    if (position) choices.push({ index: store.first + at, position, words: `up to ${state.names.list[store.columns.producer[at]]}/${store.columns.number[at]}` });
  }
  return choices;
}

/** @returns {number | null} index of a position in the log; null for a text that is none, or before the ledgers that are known */
export function indexIn(state, watched, cluster, text) {
  const log = logOf(state, watched, cluster);
  return log && POSITION.test(text) ? indexOf(log.topic.ledgers, parsePosition(text)) : null;
}

/** @param {number} index @returns {Choice | undefined} the choice that covers the messages up to an entry */
export const choiceAt = (choices, index) => choices.findLast((choice) => choice.index <= index);

/**
 * The choice some messages further. From no position it begins at the newest one.
 * @param {Choice[]} choices
 * @param {number | null} index of the present position
 * @param {number} by number of messages, negative towards the oldest
 * @returns {Choice | undefined} undefined when there is none at all
 */
export function choiceBeside(choices, index, by) {
  const last = choices.length - 1;
  const from = index === null ? (by < 0 ? last + 1 : last) : choices.findLastIndex((choice) => choice.index <= index);
  return choices[Math.max(0, Math.min(last, from + by))];
}

/** @returns {boolean} whether two positions cover the same messages: only markers lie between them */
export function coverSame(state, watched, cluster, one, other) {
  const log = logOf(state, watched, cluster);
  const [low, high] = [indexIn(state, watched, cluster, one), indexIn(state, watched, cluster, other)].sort((a, b) => (a ?? 0) - (b ?? 0));
  if (!log || low === null || high === null) return false;
  const { store } = log;
  if (low + 1 < store.first || high >= store.first + store.count) return low === high;
  for (let index = low + 1; index <= high; index++) if (isMessage(store, index - store.first)) return false;
  return true;
}

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
    /** @returns {import("../render/lanes.js").Prediction | null} */
    shown: () => (asked || mark ? { asked: asked?.cluster ?? null, cluster: mark?.cluster ?? null, index: mark && indexOf(mark.cluster, mark.position) } : null),
  };
}
