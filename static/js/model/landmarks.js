/**
 * Faults, failovers and ended snapshots of the whole branch, for the time slider; `welcome` names their types.
 * They are requested once per epoch, then the frames' rows are added. Frames leave out rows in fast playback, so after such a gap they
 * are requested again when playback is paused. A page that holds all rows of a branch requests nothing if the branch has not been
 * simulated beyond the instant shown.
 */

import { PROTOCOLS } from "../protocols/table.js";

/** @returns {"completed" | "failed" | null} how the row ends a snapshot; null for other rows */
export const snapshotEnd = (row) => PROTOCOLS.map((protocol) => protocol.snapshotEnd?.(row)).find(Boolean) ?? null;

/** @param {{get: (path: string) => Promise<object>, base: string, onAnswer: () => void}} parts */
export function makeLandmarks({ get, base, onAnswer }) {
  let held = [];
  let branch = null;
  let asked = "";
  let seen = null;
  let complete_to = 0; // `held` contains every row of the branch before this seq

  function ask(key, shown) {
    asked = key;
    get(`${base}landmarks.json`)
      .then((answer) => {
        if (asked !== key || answer.branch !== shown) return;
        held = answer.rows;
        branch = shown;
        seen = null;
        complete_to = answer.seq;
        onAnswer();
      })
      .catch((reason) => console.info(`The time slider has no older marks: ${reason.message}`));
  }

  return {
    /** @returns {object[]} rows in ascending order, including those of the branch after the instant shown */
    of(state) {
      if (state.view.branch !== branch) {
        held = [];
        branch = state.view.branch;
        seen = null;
        complete_to = 0;
      }
      const epoch = `${state.view.branch}|${state.epoch}`;
      const gap = state.rows_from > complete_to;
      const key = gap && !state.playing ? `${epoch}|${state.view.seq}` : epoch;
      const begun = asked === epoch || asked.startsWith(`${epoch}|`);
      const all_here = state.rows[0]?.seq === 0 && state.at_us >= state.view.furthest_us;
      if (!all_here && (begun ? gap && key !== epoch && key !== asked : true)) ask(key, state.view.branch);
      if (!gap) complete_to = Math.max(complete_to, state.view.seq);
      if (state.rows !== seen) {
        seen = state.rows;
        const known = new Set(held.map((row) => row.seq));
        const added = state.rows.filter((row) => state.welcome.rows.landmarks.includes(row.type) && !known.has(row.seq));
        if (added.length) held = [...held, ...added].sort((one, other) => one.seq - other.seq); // a frame of the paused lab contains rows that earlier frames left out
      }
      return held;
    },
  };
}
