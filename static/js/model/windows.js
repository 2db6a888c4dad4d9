/**
 * What a diagram shows of a stretch of time and frames do not carry: requested from the server by instants, once per window, with a
 * margin. While the lab plays, not too often, and an older answer that covers the window will do. At rest it is the answer for exactly this
 * window and this instant, so that the diagram is the same however the viewer got there. In a window that a person has moved, any answer
 * of this instant that covers it will do, so a little panning needs no new request.
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
  let held = null; // {branch, about, at_rest, from_us, to_us, bins, …what `take` gave}
  let asked = "";
  let asked_ms = -Infinity;
  let version = 0;

  return {
    version: () => version,
    /** The newest answer of this branch, whatever its window. */
    held: (state, about = "") => (held?.branch === state.view.branch && held.about === about ? held : null),
    /** Whether that answer is what is to be shown of the window up to an instant. */
    covers(state, window, until_us, about = "") {
      const { from_us, to_us } = boundsOf(state, window);
      if (to_us <= from_us) return true; // nothing has happened there yet
      const here = this.held(state, about);
      if (here === null || (!state.playing && here.at_rest !== restOf(state))) return false;
      if (!state.playing && !window.away) return here.from_us === from_us && here.to_us === to_us;
      return here.from_us <= window.start_us && here.to_us >= Math.min(until_us, to_us) && (!here.bins || here.to_us - here.from_us <= window.span_us * COARSE);
    },
    ask(state, window, wall_ms, about = "") {
      const { from_us, to_us } = boundsOf(state, window);
      const { branch } = state.view;
      const at_rest = state.playing ? null : restOf(state);
      const key = [branch, state.epoch, from_us, to_us, about, at_rest].join("|");
      if (to_us <= from_us || key === asked || (state.playing && wall_ms - asked_ms < ASK_EVERY_MS)) return;
      asked = key;
      asked_ms = wall_ms;
      get(address(from_us, to_us, about))
        .then((answer) => {
          if (asked !== key || answer.branch !== branch) return;
          held = { branch, about, at_rest, from_us, to_us, count: answer.count, bins: answer.bins ?? null, ...take(answer) };
          version += 1;
        })
        .catch(() => {
          asked = ""; // the lab seeks or the line is down: the next drawing asks again
        })
        .finally(onAnswer);
    },
  };
}

/** The stretch that is requested for a window: with margins, and nothing after the instant shown. */
function boundsOf(state, { start_us, span_us }) {
  return {
    from_us: Math.max(0, Math.round(start_us - span_us * MARGIN)),
    to_us: Math.min(state.at_us + 1, Math.round(start_us + span_us * (1 + MARGIN))),
  };
}

/** What an answer given at rest is good for. */
const restOf = ({ at_us, view }) => `${view.branch}|${view.seq}|${at_us}`;
