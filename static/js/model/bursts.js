/**
 * When duplicates were delivered, by cause, for the time axes of any protocol.
 * The whole branch is counted by the server (`why-duplicates.json`), so marks stay when the viewer goes back. It is requested only
 * when the figures of the view show duplicates that the answer does not have, or when the branch was run beyond the instant shown.
 */

/** Shortest time between two requests during playback, ms: counting takes a while. */
const ASK_EVERY_MS = 3000;
/** Number of rows above which nothing is counted during playback, because playback would wait. */
const PLAYED_ROWS = 200_000;

/** @typedef {{from_us: number, until_us: number, cause: string, count: number}} Burst */

/** @returns {number} the duplicates so far of all failovers and groups of the view */
function duplicatesOf({ failovers = [], groups = {} }) {
  const of_groups = Object.values(groups).reduce((sum, { figures }) => sum + (figures?.duplicates ?? 0), 0);
  return failovers.reduce((sum, { duplicates }) => sum + (duplicates ?? 0), of_groups);
}

/** @param {{get: (path: string) => Promise<object>, base: string, onAnswer: () => void}} parts */
export function makeBursts({ get, base, onAnswer }) {
  let held = { branch: null, counted_to_us: 0, cases: [] };
  let asking = false;
  let asked_ms = -Infinity;
  let asked = "";
  let version = 0;

  function ask() {
    asking = true;
    get(`${base}why-duplicates.json`)
      .then(({ branch, counted_to_us, failovers, shared }) => {
        held = { branch, counted_to_us, cases: [...failovers, ...shared] };
        version += 1;
      })
      .catch((reason) => console.info(`The time axes have no marks of duplicates: ${reason.message}`))
      .finally(() => {
        asking = false;
        onAnswer();
      });
  }

  /** Whether the answer held lacks something of the branch. */
  function lacks({ view, at_us }) {
    if (at_us < view.furthest_us) return held.branch !== view.branch || held.counted_to_us !== view.furthest_us;
    const counted = held.branch === view.branch ? held.cases.flatMap(({ bursts }) => bursts) : [];
    return duplicatesOf(view) !== counted.filter(({ until_us }) => until_us <= at_us).reduce((sum, { count }) => sum + count, 0);
  }

  return {
    /** Increases with each answer, so that a picture can detect that it must be redrawn. */
    version: () => version,
    /** @returns {Burst[]} of what is shown, ascending, with those of the branch after the instant shown */
    of(state, watched, wall_ms) {
      const { branch, seq, furthest_us } = state.view;
      const key = [branch, state.epoch, state.at_us, furthest_us].join("|");
      const due = !state.playing || (wall_ms - asked_ms >= ASK_EVERY_MS && seq < PLAYED_ROWS);
      if (due && !asking && asked !== key && lacks(state)) {
        [asked, asked_ms] = [key, wall_ms];
        ask();
      }
      const name = watched.group ?? watched.subscription;
      return held.branch === branch ? held.cases.filter((one) => (one.group ?? one.subscription) === name).flatMap(({ bursts }) => bursts) : [];
    },
  };
}
