/**
 * What a diagram shows of a stretch of time and frames do not carry: asked of the server by instants, once per window, with a
 * margin, so that a little panning needs no new question; while the lab plays, not too often.
 */

/** Around the window asked for, in parts of it. */
const MARGIN = 0.5;
/** Counts over more than so many windows are too coarse for this one. */
const COARSE = 3;
/** While the lab plays, at most this often, ms. */
const ASK_EVERY_MS = 700;

/**
 * @param {object} parts
 * @param {(path: string) => Promise<object>} parts.get
 * @param {(from_us: number, to_us: number, about: string) => string} parts.address
 * @param {(answer: object) => object} parts.take what is kept of an answer
 * @param {() => void} parts.onAnswer
 */
export function makeWindows({ get, address, take, onAnswer }) {
  let held = null; // {branch, about, from_us, to_us, bins, …what `take` gave}
  let asked = "";
  let asked_ms = -Infinity;
  let version = 0;

  return {
    version: () => version,
    /** The newest answer of this branch, whatever its window. */
    held: (state, about = "") => (held?.branch === state.view.branch && held.about === about ? held : null),
    /** Whether that answer tells all of the window up to an instant. */
    covers(state, window, until_us, about = "") {
      const here = this.held(state, about);
      return here !== null && here.from_us <= window.start_us && here.to_us >= until_us && (!here.bins || here.to_us - here.from_us <= window.span_us * COARSE);
    },
    /** @param {number} reach_us nothing is known after this instant */
    ask(state, window, wall_ms, reach_us, about = "") {
      const from_us = Math.max(0, Math.round(window.start_us - window.span_us * MARGIN));
      const to_us = Math.min(reach_us, Math.round(window.start_us + window.span_us * (1 + MARGIN)));
      const { branch } = state.view;
      const key = `${branch}|${state.epoch}|${from_us}|${to_us}|${about}`;
      if (to_us <= from_us || key === asked || (state.playing && wall_ms - asked_ms < ASK_EVERY_MS)) return;
      asked = key;
      asked_ms = wall_ms;
      get(address(from_us, to_us, about))
        .then((answer) => {
          if (asked !== key || answer.branch !== branch) return;
          held = { branch, about, from_us, to_us, count: answer.count, bins: answer.bins ?? null, ...take(answer) };
          version += 1;
        })
        .catch(() => {
          asked = ""; // the lab seeks or the line is down: the next drawing asks again
        })
        .finally(onAnswer);
    },
  };
}
