/** Faults, failovers and ended snapshots of the whole branch, for the scrub bar: asked once per jump, then the frames' rows are added. */

const TYPES = /^(cluster\.(crashed|restarted|lost)|link\.(cut|healed|slowed)|failover\.started|snapshot\.(completed|timed-out|abandoned))$/;

/** @param {{get: (path: string) => Promise<object>, base: string, onAnswer: () => void}} parts */
export function makeLandmarks({ get, base, onAnswer }) {
  let held = [];
  let branch = null;
  let asked = "";
  let seen = null;

  function ask(key, shown) {
    asked = key;
    get(`${base}landmarks.json`)
      .then((answer) => {
        if (asked !== key || answer.branch !== shown) return;
        held = answer.rows;
        branch = shown;
        seen = null;
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
      }
      const key = `${state.view.branch}|${state.epoch}`;
      if (key !== asked && state.rows[0]?.seq !== 0) ask(key, state.view.branch);
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
