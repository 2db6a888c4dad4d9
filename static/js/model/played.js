/**
 * Stores per scenario in this browser: that it was played to its end, and the visitor's guess before that.
 * Nothing is sent to the server. In a window without storage nothing is stored, and outcomes stay hidden.
 */

import { counted, whole } from "./format.js";

const PLAYED = "failover-lab.played.";
const TOURED = "failover-lab.toured.";
const GUESS = "failover-lab.guess.";
/** Largest number of digits of a guess. */
const LONGEST = 9;

const read = (storage, key) => {
  try {
    return storage.getItem(key);
  } catch {
    return null;
  }
};

const write = (storage, key, value) => {
  try {
    storage.setItem(key, value);
  } catch (reason) {
    console.info(`The browser does not store it: ${reason.message}`);
  }
};

/** @returns {boolean} */
export const wasPlayed = (storage, name) => read(storage, PLAYED + name) !== null;

export const notePlayed = (storage, name) => write(storage, PLAYED + name, "1");

/** @returns {boolean} whether the tour of a scenario was played to its last step */
export const wasToured = (storage, name) => read(storage, TOURED + name) !== null;

export const noteToured = (storage, name) => write(storage, TOURED + name, "1");

/** @returns {number | null} the visitor's guess of the duplicates */
export function guessOf(storage, name) {
  const text = read(storage, GUESS + name);
  return text === null ? null : Number(text);
}

/** @param {string} typed @returns {boolean} whether it is a number of messages that can be stored */
export function noteGuess(storage, name, typed) {
  if (!/^\d+$/.test(typed.trim()) || typed.trim().length > LONGEST) return false;
  write(storage, GUESS + name, String(Number(typed)));
  return true;
}

/**
 * Duplicates of the run and the visitor's guess, such as "31 duplicates, your guess 12".
 * @param {{failovers: object[]}} outcome
 * @param {number | null} guess
 * @returns {(string | {harm: string} | {strong: string})[]}
 */
export function outcomeParts(outcome, guess) {
  const { failovers } = outcome;
  if (!failovers.length) return ["played"];
  const duplicates = failovers.length === 1 ? counted(failovers[0].duplicates, "duplicate") : `${failovers.map((one) => whole(one.duplicates)).join(", then ")} duplicates`;
  const lost = failovers.reduce((sum, one) => sum + one.lost, 0);
  /** @type {(string | {harm: string} | {strong: string})[]} */
  const parts = [failovers.some((one) => one.duplicates) ? { harm: duplicates } : { strong: duplicates }];
  if (lost) parts.push(", ", { harm: `${whole(lost)} lost` });
  if (guess !== null) parts.push(`, your guess ${whole(guess)}`);
  return parts;
}

/**
 * Whether the page shows the run of the scenario as written, played to its end.
 * @param {import("./state.js").LabState} state
 */
export const isPlayed = (state) => state.welcome !== null && state.view !== null && state.view.branch === 0 && state.at_us >= state.welcome.until_us;

/** Records on the lab page that a scenario was played to its end, and compares the outcome with the guess. */

/** @param {{storage: Storage | null, say: (notice: object) => void}} parts */
export function makePlayed({ storage, say }) {
  let noted = false;
  /** @param {import("./state.js").LabState} state */
  return (state) => {
    if (noted || !storage || !isPlayed(state)) return;
    noted = true;
    const name = state.welcome.scenario;
    notePlayed(storage, name);
    const guess = guessOf(storage, name);
    const first = state.view.failovers?.[0];
    if (guess === null || !first) return;
    say({ error: guess === first.duplicates ? `${counted(first.duplicates, "duplicate")}: as you guessed.` : `${counted(first.duplicates, "duplicate")}; your guess was ${guess}.`, tone: "plain" });
  };
}
