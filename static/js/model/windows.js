/**
 * Requests data of a stretch of time that frames do not contain, once per window of a diagram and with a margin.
 * During playback, requests are limited in rate, and an older answer that covers the window is used. When playback is paused, the answer
 * is for exactly this window and instant, so the diagram does not depend on how the viewer got there. In a window that the viewer has
 * moved, any answer of this instant that covers it is used, so that panning a little needs no new request.
 */

/** Margin on each side of a requested window, as a share of its span. */
const MARGIN = 0.5;
/** Counts over a stretch of more than this many windows are too coarse. */
const COARSE = 3;
/** Shortest time between two requests during playback, ms. */
const ASK_EVERY_MS = 700;

/**
 * @param {object} parts
 * @param {(path: string) => Promise<object>} parts.get
 * @param {(from_us: number, to_us: number, about: string) => string} parts.address
 * @param {(answer: object) => object} parts.take returns the fields of an answer that are kept
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
    /** Whether that answer can be used for the part of the window up to an instant. */
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
          asked = ""; // the lab seeks or the connection is lost: the next drawing requests it again
        })
        .finally(onAnswer);
    },
  };
}

/** The stretch that is requested for a window: with margins, and without anything after the instant shown. */
function boundsOf(state, { start_us, span_us }) {
  return {
    from_us: Math.max(0, Math.round(start_us - span_us * MARGIN)),
    to_us: Math.min(state.at_us + 1, Math.round(start_us + span_us * (1 + MARGIN))),
  };
}

/** Key of the paused state that an answer belongs to. */
const restOf = ({ at_us, view }) => `${view.branch}|${view.seq}|${at_us}`;
