/**
 * Requests the part of the risk curve that is older than the points of the frames, once per stretch of time.
 * When playback is paused, the answer is for exactly this stretch, so the curve does not depend on how the viewer got there.
 */

import { pointsOf } from "../wire/decode.js";
import { curveUpToNow } from "./forecast.js";

/** Shortest time between two requests during playback, ms. */
const ASK_EVERY_MS = 700;

/**
 * @param {object} parts
 * @param {(path: string) => Promise<object>} parts.get
 * @param {string} parts.base path of the lab, ending in "/"
 * @param {() => void} parts.onAnswer
 */
export function makeCurveWindow({ get, base, onAnswer }) {
  let held = { branch: null, points: [] };
  let asked = "";
  let asked_ms = -Infinity;
  let version = 0;

  function ask(wanted, branch, from_us, to_us) {
    asked = wanted;
    get(`${base}curve.json?from_us=${from_us}&to_us=${to_us}`)
      .then((answer) => {
        if (asked !== wanted || answer.branch !== branch) return;
        held = { branch, points: pointsOf(answer.points) };
        version += 1;
        onAnswer();
      })
      .catch(() => {
        asked = ""; // the lab seeks or the connection is lost: the next drawing requests it again
      });
  }

  return {
    /** Increases with each answer, so that a diagram can detect that it must be redrawn. */
    version: () => version,
    /**
     * @param {object} state
     * @param {number} from_us
     * @param {number} to_us of the stretch; points up to the instant shown are always included
     * @returns {import("./forecast.js").Point[]} in ascending order
     */
    points(state, from_us, to_us, wall_ms) {
      const newest = curveUpToNow(state);
      const end_us = Math.min(to_us, state.forecast_from_us - 1);
      const begin_us = Math.max(0, from_us);
      if (end_us <= begin_us) return newest;
      const { branch } = state.view;
      const wanted = `${branch}|${begin_us}|${end_us}`;
      if (wanted !== asked && !(state.playing && wall_ms - asked_ms < ASK_EVERY_MS)) {
        asked_ms = wall_ms;
        ask(wanted, branch, begin_us, end_us);
      }
      return held.branch === branch ? [...held.points.filter(([at_us]) => at_us < state.forecast_from_us), ...newest] : newest;
    },
  };
}
