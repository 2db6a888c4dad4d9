/**
 * Faults, failovers and ended snapshots of the whole branch, for the scrub bar. They are requested once per epoch, then the frames' rows
 * are added. Frames leave out rows in fast playback, so after such a gap they are requested again when playback is paused.
 */

const TYPES = /^(cluster\.(crashed|restarted|lost)|link\.(cut|healed|slowed)|failover\.started|snapshot\.(completed|timed-out|abandoned))$/;

/** @param {{get: (path: string) => Promise<object>, base: string, onAnswer: () => void}} parts */
export function makeLandmarks({ get, base, onAnswer }) {
  let held = [];
  let branch = null;
  let asked = "";
  let seen = null;
  let complete_to = 0; // no row of the branch before this seq is missing in `held`

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
      .catch((reason) => console.info(`The scrub bar has no older marks for now: ${reason.message}`));
  }

  return {
    /** @returns {object[]} rows, ascending; of the branch shown, those ahead of the instant too */
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
      if (state.rows[0]?.seq !== 0 && (begun ? gap && key !== epoch && key !== asked : true)) ask(key, state.view.branch);
      if (!gap) complete_to = Math.max(complete_to, state.view.seq);
      if (state.rows !== seen) {
        seen = state.rows;
        const last = held.length ? held[held.length - 1].seq : -1;
        const added = state.rows.filter((row) => row.seq > last && TYPES.test(row.type));
        if (added.length) held = [...held, ...added];
      }
      return held;
    },
  };
}
