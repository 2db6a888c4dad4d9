/**
 * The rows of the event list: those around the instant shown, as the server returns them.
 * The list is therefore the same for every viewer at this instant. During playback, the rows of frames are added to the last answer.
 */

/** Shortest time between two requests while the lab plays at an instant that the branch has already passed, ms. */
const ASK_EVERY_MS = 700;

/** @typedef {{rows: object[], ahead: object[]}} Listed rows before the instant and after it, by ascending seq */

/**
 * @param {object} parts
 * @param {(path: string) => Promise<object>} parts.get
 * @param {string} parts.base path of the lab, ending in "/"
 * @param {() => void} parts.onAnswer
 */
export function makeEventWindow({ get, base, onAnswer }) {
  let held = null; // the newest answer: {branch, seq, rows_from, rows, ahead}, and the key of the state for which it was requested
  let asked = "";
  let asked_ms = -Infinity;
  let made = { state: null, held: null, listed: { rows: [], ahead: [] } };

  function ask(key, wall_ms) {
    asked = key;
    asked_ms = wall_ms;
    get(`${base}events.json`)
      .then((answer) => {
        if (asked === key) held = { ...answer, key };
      })
      .catch(() => {
        asked = ""; // the lab seeks or the connection is lost: the next drawing requests it again
      })
      .finally(onAnswer);
  }

  return {
    /** @returns {Listed} the same object while nothing has changed */
    of(state, wall_ms) {
      const { view } = state;
      const key = [view.branch, view.seq, view.furthest_us].join("|");
      const behind = state.at_us < view.furthest_us;
      const missing = held?.branch !== view.branch || (behind && !rowsAfter(held.ahead, view.seq).length);
      const due = state.playing ? missing && wall_ms - asked_ms >= ASK_EVERY_MS : key !== asked;
      if (due) ask(key, wall_ms);
      if (made.state !== state || made.held !== held) made = { state, held, listed: listedOf(state, held, key) };
      return made.listed;
    },
  };
}

/** @returns {Listed} */
export function listedOf(state, held, key) {
  const { branch, seq } = state.view;
  if (held?.branch !== branch) return { rows: state.rows, ahead: [] };
  if (held.key === key && held.seq === seq) return { rows: held.rows, ahead: held.ahead };
  const known = [...held.rows, ...held.ahead];
  const known_to = Math.max(held.seq, (held.ahead.at(-1)?.seq ?? -1) + 1);
  const before = known.filter((row) => row.seq < Math.min(seq, state.rows_from));
  const joined = held.rows_from <= state.rows_from && state.rows_from <= known_to;
  return { rows: joined ? [...before, ...state.rows] : state.rows, ahead: rowsAfter(known, seq) };
}

const rowsAfter = (rows, seq) => rows.filter((row) => row.seq >= seq);
