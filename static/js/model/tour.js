/**
 * A guided tour: where playback goes for a step, how fast, and what the learner predicted.
 * Pure: the page passes in the lab's state and the answer of `tour.json`.
 *
 * @typedef {object} TourStep
 * @property {string} title
 * @property {string} text
 * @property {number} at_us where playback stops
 * @property {number} slow_from_us from where it is slow: the first cause of the step's event shortly before it
 * @property {number | null} seq row to highlight
 * @property {object | null} row the step's event
 * @property {[string, number] | null} message message to highlight instead
 * @property {string} panel panel to show, or ""
 * @property {{text: string, cluster: string, position: string} | null} note sentence beside an entry of the picture
 * @property {string[]} show parts of the page that are shown from this step on
 * @property {[string, string][]} terms words of the text that are in the glossary, each with the label of its term
 * @property {{question: string, kind: string, unit: string, answer: string, cluster: string} | null} ask `cluster`: in whose log a position lies
 */

/** Wall time in which playback reaches the slow part before an event, and in which it plays that part, s. */
export const FAST_S = 3;
export const SLOW_S = 3;
/** The lowest speed: a span of 1 ms then takes a tenth of a second. */
const SLOWEST = 0.01;
const FASTEST = 1000;

/**
 * @param {number} now_us
 * @param {TourStep} step
 * @returns {{until_us: number, speed: number}[]} what to play, in order; empty when the step is at or before the instant
 */
export function partsOf(now_us, step) {
  const parts = [];
  const slow_from_us = Math.min(step.slow_from_us, step.at_us);
  if (now_us < slow_from_us) parts.push({ until_us: slow_from_us, speed: bounded((slow_from_us - now_us) / 1e6 / FAST_S, 1) });
  const from_us = Math.max(now_us, slow_from_us);
  if (from_us < step.at_us) parts.push({ until_us: step.at_us, speed: bounded((step.at_us - from_us) / 1e6 / SLOW_S, SLOWEST) });
  return parts;
}

const bounded = (speed, lowest) => Math.min(FASTEST, Math.max(lowest, speed));

/**
 * Reads what the learner typed.
 * @param {string} kind number or position
 * @param {string} typed
 * @returns {{guess: string | null, problem: string}} guess null without an entry; `problem` says what would be right
 */
export function readGuess(kind, typed) {
  const text = typed.trim();
  if (!text) return { guess: null, problem: "" };
  if (kind === "position") {
    return /^\d{1,12}:-?\d{1,12}$/.test(text) ? { guess: text, problem: "" } : { guess: null, problem: "Write a position as ledger:entry, such as 1234:57, or leave it empty." };
  }
  const digits = text.replace(/[,\s\u2009]/g, "");
  return /^\d{1,9}$/.test(digits) ? { guess: String(Number(digits)), problem: "" } : { guess: null, problem: "Write a whole number, or leave it empty." };
}

/** Whether a prediction is the run's answer as it is written. @param {string} kind @param {string} answer @param {string} guess */
const isAnswer = (kind, answer, guess) => (kind === "position" ? guess === answer : Number(guess) === Number(answer.replace(/,/g, "")));

/** @typedef {{same: (cluster: string, one: string, other: string) => boolean} | null} Judge whether two positions of a log cover the same messages */

/**
 * The answer to a question beside a prediction, judged in the same way on every page: a position that covers the same messages is right.
 * @param {TourStep["ask"]} ask
 * @param {string | null | undefined} guess
 * @param {Judge} judge
 */
export function judged(ask, guess, judge) {
  if (!ask) return "";
  return revealed(ask, guess, ask.kind === "position" && Boolean(guess) && Boolean(judge?.same(ask.cluster, guess, ask.answer)));
}

/** Most bars of a histogram: more do not fit on a page that is read from the back row. */
export const BARS = 12;

/**
 * @typedef {object} Bar
 * @property {string} label
 * @property {number} count
 * @property {boolean} right whether the run's answer is in it
 */
/**
 * The predictions of a class as bars: one for each number or position, or ranges of numbers when there are more than `BARS`.
 * @param {TourStep["ask"]} ask
 * @param {[string, number][]} counts predictions, and how often each was given
 * @param {Judge} judge
 * @param {boolean} answered whether the run's answer may be marked
 * @returns {{bars: Bar[], others: number}} others: predictions without a bar
 */
export function histogramOf(ask, counts, judge, answered) {
  const groups = groupsOf(ask, counts, judge);
  const isRight = (guesses) => answered && guesses.some((guess) => isAnswer(ask.kind, ask.answer, guess) || (ask.kind === "position" && Boolean(judge?.same(ask.cluster, guess, ask.answer))));
  const barOf = ({ label, count, guesses }) => ({ label, count, right: isRight(guesses) });
  if (groups.length <= BARS) return { bars: groups.map(barOf), others: 0 };
  if (ask.kind !== "position") return { bars: rangesOf(groups).map(barOf), others: 0 };
  const kept = [...groups].sort((a, b) => b.count - a.count).slice(0, BARS);
  return { bars: groups.filter((group) => kept.includes(group)).map(barOf), others: groups.reduce((sum, group) => sum + (kept.includes(group) ? 0 : group.count), 0) };
}

/** Predictions of the same figure, or of positions that cover the same messages, in ascending order. */
function groupsOf(ask, counts, judge) {
  /** @type {{label: string, count: number, guesses: string[]}[]} */
  const groups = [];
  for (const [guess, count] of counts) {
    if (readGuess(ask.kind, guess).guess === null) continue; // not an answer to this question
    const found = groups.find(({ label }) => (ask.kind === "position" ? label === guess || Boolean(judge?.same(ask.cluster, label, guess)) : Number(label) === Number(guess)));
    if (found) {
      found.count += count;
      found.guesses.push(guess);
    } else groups.push({ label: guess, count, guesses: [guess] });
  }
  const placeOf = (label) => label.split(":").map(Number);
  return groups.sort((a, b) => placeOf(a.label)[0] - placeOf(b.label)[0] || (placeOf(a.label)[1] ?? 0) - (placeOf(b.label)[1] ?? 0));
}

/** Numbers in ranges of the same width, empty ones included. */
function rangesOf(groups) {
  const low = Number(groups[0].label);
  const width = Math.ceil((Number(groups[groups.length - 1].label) + 1 - low) / BARS);
  const bins = Array.from({ length: BARS }, (_, at) => ({ label: `${low + at * width}–${low + (at + 1) * width - 1}`, count: 0, guesses: /** @type {string[]} */ ([]) }));
  for (const { label, count, guesses } of groups) {
    const bin = bins[Math.floor((Number(label) - low) / width)];
    bin.count += count;
    bin.guesses.push(...guesses);
  }
  return bins;
}

/**
 * The run's answer beside the learner's.
 * @param {{kind: string, unit: string, answer: string}} ask
 * @param {string | null | undefined} guess
 * @param {boolean} [same] whether the two positions cover the same messages
 * @returns {string}
 */
function revealed({ kind, unit, answer }, guess, same = false) {
  const shown = unit ? `${answer} ${answer === "1" ? unit.replace(/s$/, "") : unit}` : answer;
  if (guess === null || guess === undefined) return `In this run: ${shown}.`;
  const right = isAnswer(kind, answer, guess);
  if (same && !right) return `Your prediction, ${guess}, is right: it covers the same messages as ${answer}.`;
  return right ? `Your prediction is right: ${shown}.` : `Your prediction: ${guess}. In this run: ${shown}.`;
}

/**
 * Where the lab is with respect to a step that is being played.
 * @param {{at_us: number, playing: boolean}} state
 * @param {{until_us: number, exact?: boolean} | null} part the part that was requested, null at rest; an exact one is a jump, also backwards
 * @param {boolean} began whether the lab has been seen playing since the request
 * @returns {"resting" | "waiting" | "playing" | "reached" | "paused"} paused: the viewer stopped it before the end of the part
 */
export function progressOf(state, part, began) {
  if (part === null) return "resting";
  if (state.playing) return "playing";
  if (part.exact ? state.at_us === part.until_us : state.at_us >= part.until_us) return "reached";
  return began ? "paused" : "waiting";
}

/** The parts of the page that a tour may show step by step. */
export const PAGE_PARTS = ["forecast", "overview", "legend", "side", "time", "tabs", "controls"];

/**
 * The parts of the page that a step shows: those that it or an earlier step names.
 * @param {TourStep[]} steps
 * @param {number} at
 * @returns {string[] | null} null: the whole page, as in a tour whose steps name no parts
 */
export function partsShown(steps, at) {
  if (steps.every(({ show }) => show.length === 0)) return null;
  const shown = steps.slice(0, at + 1).flatMap(({ show, panel }) => (panel ? [...show, "time"] : show));
  return [...new Set(shown)];
}

/**
 * Cuts a text at its terms.
 * @param {string} text
 * @param {[string, string][]} terms in the order of the text
 * @returns {(string | {text: string, label: string})[]}
 */
export function cutAtTerms(text, terms) {
  const cut = [];
  let from = 0;
  for (const [word, label] of terms) {
    const at = placeOf(text, word, from);
    if (at < 0) continue;
    cut.push(text.slice(from, at), { text: word, label });
    from = at + word.length;
  }
  return [...cut, text.slice(from)].filter((part) => part !== "");
}

/** Where a word begins that is not part of a longer one; -1 for nowhere. */
function placeOf(text, word, from) {
  const inWord = (letter) => letter !== undefined && /[\w-]/.test(letter);
  let at = text.indexOf(word, from);
  while (at >= 0 && (inWord(text[at - 1]) || inWord(text[at + word.length]))) at = text.indexOf(word, at + 1);
  return at;
}

/** The step of a tour in the fragment of the page's address. @param {number} number from 1 */
export const tourFragment = (number) => `#tour=${number}`;

/** @param {string} fragment @returns {number | null} the step that an address names, from 1 */
export function tourPlaceOf(fragment) {
  const text = new URLSearchParams(fragment.replace(/^#/, "")).get("tour");
  return text !== null && /^\d{1,2}$/.test(text) ? Math.max(1, Number(text)) : null;
}
