/**
 * The four layers of one client of a group, from the view and from the latest rows about the client.
 * They show the chosen borrower and stream, the state of each state machine with its last move, and the last exchanges between
 * neighbouring layers: calls within the session's process, messages outside it.
 */

import { clientsOf, leaderOf } from "./groups.js";

/** Number of kinds listed for each gap and direction: the last exchange of each kind, newest first. */
const STEPS_SHOWN = 3;

/** @typedef {{client: string, borrower: string | null, stream: string | null}} Member what is shown; a borrower as "session/number" */

/**
 * @param {import("../../../model/state.js").LabState} state
 * @param {string} group
 * @param {Partial<Member>} selection what the viewer chose, applied while it exists
 * @returns {(Member & {clients: string[], borrowers: string[], streams: string[]}) | null}
 */
export function memberOf(state, group, selection) {
  const clients = clientsOf(state, group);
  const busy = clients.find(({ incarnations }) => incarnations.some(({ own }) => own)) ?? clients[0];
  const client = clients.find(({ name }) => name === selection.client) ?? busy;
  if (!client) return null;
  const borrowers = client.incarnations.map(({ id }) => id);
  const borrower = borrowers.includes(selection.borrower) ? selection.borrower : (client.incarnations.findLast(({ own }) => own)?.id ?? borrowers.at(-1) ?? null);
  const all = state.view.groups[group].streams;
  const streams = Object.keys(all);
  const stream = streams.includes(selection.stream) ? selection.stream : (streams.find((name) => all[name].readers[borrower]) ?? streams[0] ?? null);
  return { client: client.name, borrower, stream, clients: clients.map(({ name }) => name), borrowers, streams };
}

const numberOf = (borrower) => (borrower === null ? null : Number(borrower.slice(borrower.lastIndexOf("/") + 1)));

/**
 * @param {object[]} rows by ascending seq
 * @returns {Object<string, {now: string | null, last: {from: string | null, to: string, at_us: number, seq: number, why: string | null} | null, untouched: boolean}>} by machine; untouched: it has not moved yet
 */
export function machinesNow(state, group, member, rows) {
  const { view } = state;
  const one = view.groups[group];
  const leading = leaderOf(one);
  const number = numberOf(member.borrower);
  const own = view.sessions[member.client].borrowers[member.borrower];
  const assigned = leading?.leader.streams[member.stream];
  const leader = leading ? { number: Number(leading.number), state: "leading" } : (one.ended ?? null);
  const of = (type, wanted) => rows.filter((row) => row.type === type && wanted(row)).map((row) => ({ to: row.reason, at_us: row.at_us, seq: row.seq, why: row.detail ?? null }));
  const moves = {
    borrower: of("borrower.changed", (row) => row.client === member.client && row.count === number),
    lease: of("lease.changed", (row) => row.client === member.client && row.count === number && row.topic === member.stream),
    assignment: of("assignment.changed", (row) => row.topic === member.stream && row.ledger === leader?.number),
    leader: rows.filter((row) => row.type.startsWith("leader.") && row.count === leader?.number).map((row) => ({ to: row.type === "leader.elected" ? "leading" : leader.state, at_us: row.at_us, seq: row.seq, why: row.reason })),
  };
  const now = {
    borrower: own?.state ?? (member.borrower === null ? null : "gone"),
    lease: member.stream === null || member.borrower === null ? null : (one.streams[member.stream]?.readers[member.borrower]?.lease ?? "absent"),
    assignment: assigned?.state ?? null,
    leader: leader?.state ?? null,
  };
  return Object.fromEntries(Object.keys(now).map((name) => [name, { now: now[name], untouched: moves[name].length === 0, last: lastOf(moves[name], now[name], state.welcome.tables.machines[name]) }]));
}

/** The last move; null if the state has changed since and the row has not arrived yet. */
function lastOf(moves, now, { start, moves: table }) {
  const last = moves.at(-1);
  if (!last || last.to !== now) return null;
  const before = moves.at(-2)?.to ?? start;
  return { ...last, from: table[before]?.[last.to] === undefined ? null : before };
}

const short = (stream) => stream ?? "all";
const upTo = (row) => (row.entry === undefined ? "to its end" : `up to ${row.entry}`);
const LEASES = { granted: (row) => `read ${row.topic} from ${row.entry ?? "its end"}`, revoking: (row) => `stop reading ${row.topic}`, absent: (row) => `${row.topic} is released` };

/** Rows as exchanges between two layers: gap, whether downwards, text. */
const CALLS = {
  "session.connected": (row) => [["handler", true, `client connected (${row.reason})`]],
  "session.disconnected": (row) => [["handler", true, `client disconnected (${row.reason})`]],
  "session.subscribed": (row) => [["handler", true, `subscribe ${row.detail}`]],
  "session.unsubscribed": (row) => [["handler", true, `unsubscribe ${row.detail}`]],
  "progress.told": (row) => ["handler", "agent"].map((gap) => [gap, true, `${short(row.topic)} acknowledged ${upTo(row)}`]),
  "lease.changed": (row) => ["agent", "handler"].map((gap) => [gap, false, LEASES[row.reason](row)]),
  "borrower.changed": (row) => ({ connecting: [["agent", true, `start${row.detail ? `: ${row.detail}` : ""}`]], unsubscribing: [["agent", true, "unsubscribe"]], gone: [["agent", false, `borrower ended${row.detail ? `: ${row.detail}` : ""}`]] })[row.reason] ?? [],
};
const TO_LEADER = new Set(["leader-wanted", "ping", "update-progress", "revoke-finished", "disconnect"]);

/**
 * The last calls and messages in each gap: below the handler, the agent and the borrower.
 * @param {object[]} rows by ascending seq
 * @param {Member} member
 * @returns {Object<"handler" | "agent" | "borrower", {down: Exchange[], up: Exchange[]}>}
 * @typedef {{kind: string, at_us: number, seq: number, words: string, lost: boolean}} Exchange
 */
export function exchangedBetween(rows, { client, borrower }) {
  const gaps = { handler: { down: [], up: [] }, agent: { down: [], up: [] }, borrower: { down: [], up: [] } };
  const number = numberOf(borrower);
  const lost = new Set(rows.filter((row) => row.type === "protocol.lost").map((row) => row.count));
  const put = (gap, down, row, words, gone = false) => gaps[gap][down ? "down" : "up"].unshift({ kind: `${row.type}|${row.reason}`, at_us: row.at_us, seq: row.seq, words, lost: gone });
  for (const row of rows) {
    if (row.client !== client) continue;
    if (row.type === "protocol.sent") put("borrower", TO_LEADER.has(row.reason), row, `${row.reason}${row.topic ? ` ${row.topic}` : ""}${row.entry === undefined ? "" : ` at ${row.entry}`}`, lost.has(row.count));
    for (const [gap, down, words] of CALLS[row.type]?.(row) ?? []) {
      const another = gap === "agent" && row.count !== number;
      if (!another) put(gap, down, row, words);
    }
  }
  for (const gap of Object.values(gaps)) for (const way of ["down", "up"]) gap[way] = gap[way].filter(({ kind }, at, all) => all.findIndex((one) => one.kind === kind) === at).slice(0, STEPS_SHOWN);
  return gaps;
}

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
