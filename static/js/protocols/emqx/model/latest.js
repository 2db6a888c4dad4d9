/**
 * The latest rows about one client and one stream of a group.
 * They are requested from the server once, then only what is new. Rows of frames are added in between.
 */

/** Shortest time between two requests during playback, ms. */
const ASK_EVERY_MS = 700;
/** Number of rows of each type and reason, as on the server. */
const KEPT = 4;

/**
 * @param {object} parts
 * @param {(path: string) => Promise<object>} parts.get
 * @param {string} parts.base
 * @param {() => void} parts.onAnswer
 */
export function makeLatest({ get, base, onAnswer }) {
  let held = { key: "", seq: 0, rows: [] };
  let made = { state: null, held: null, rows: [] };
  let asking = false;
  let asked_ms = -Infinity;
  let asked_key = "";

  function ask(about, key) {
    asking = true;
    const query = Object.entries({ ...about, after: held.seq }).map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
    get(`${base}latest.json?${query}`)
      .then((answer) => {
        asking = false;
        if (held.key === key && String(answer.branch) === key.split("|")[0]) held = { key, seq: answer.seq, rows: newest([...held.rows, ...answer.rows], about.stream) };
        onAnswer();
      })
      .catch(() => {
        asking = false; // the lab seeks or the connection is lost: a later drawing requests it again
      });
  }

  return {
    /** @returns {object[]} ascending, up to the instant shown; the same list while nothing has changed */
    rows(state, group, { client, stream }, wall_ms) {
      const key = [state.view.branch, group, client, stream].join("|");
      const { seq } = state.view;
      if (held.key !== key || held.seq > seq) held = { key, seq: 0, rows: [] };
      const due = held.seq < seq && (!state.playing || key !== asked_key || wall_ms - asked_ms >= ASK_EVERY_MS);
      if (due && !asking) {
        asked_ms = wall_ms;
        asked_key = key;
        ask({ group, client, stream: stream ?? "" }, key);
      }
      if (made.state !== state || made.held !== held) {
        const fresh = state.rows.filter((row) => row.seq >= held.seq && (row.subscription === group || row.type.startsWith("session.")));
        made = { state, held, rows: [...held.rows, ...fresh].filter((row) => row.seq < seq) };
      }
      return made.rows;
    },
  };
}

/** The latest rows of each type and reason, counted separately for the stream. */
function newest(rows, stream) {
  const counts = new Map();
  const kept = [];
  for (const row of rows.toReversed()) {
    const key = `${row.type}|${row.reason}|${row.topic === stream}`;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    if (count <= KEPT) kept.push(row);
  }
  return kept.reverse();
}
