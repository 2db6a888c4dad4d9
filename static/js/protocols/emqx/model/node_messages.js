/**
 * Folds rows of one group's protocol for the diagram: messages with their arrivals and faults, lifetimes, leases.
 * Lifetimes are those of leaders and borrowers. A line is "leader NODE" or "session NAME".
 */

const TO_LEADER = new Set(["leader-wanted", "ping", "update-progress", "revoke-finished", "disconnect"]);

/** The family of each kind of message: families are drawn alike and can be hidden. */
export const FAMILY_OF = {
  "leader-wanted": "connect",
  "leader-connect-response": "connect",
  ping: "ping",
  "ping-response": "ping",
  grant: "grant",
  "update-progress": "progress",
  revoke: "revoke",
  revoked: "revoke",
  "revoke-finished": "revoke",
  disconnect: "leave",
  invalidate: "leave",
};

/** An instant, with the order of the row among those of the same instant. @typedef {{at_us: number, order: number}} Point */
/**
 * @typedef {object} Message
 * @property {number} number
 * @property {number} seq the row that sent it
 * @property {number[]} seqs all rows about it
 * @property {string} kind
 * @property {string} client
 * @property {string | null} stream
 * @property {number | null} position
 * @property {string} from line
 * @property {string} to line
 * @property {Point} sent
 * @property {Point[]} arrivals
 * @property {(Point & {why: string}) | null} lost
 * @property {number} delayed_us 0: not delayed
 * @property {boolean} doubled
 * @property {boolean} again resent, because no answer arrived
 * @property {boolean} unanswered the node's registry had no leader
 */

export const leaderLine = (node) => `leader ${node}`;
export const sessionLine = (name) => `session ${name}`;

/**
 * @param {object[]} rows by ascending seq
 * @param {number[]} again seqs
 * @param {object[]} before the latest rows about what existed at the window's start
 */
export function foldNodeMessages(rows = [], again = [], before = []) {
  const messages = foldMessages(rows, new Set(again));
  const all = [...before, ...rows];
  return { messages, ...foldLives(all), pongs: foldPongs(before, messages), marks: rows.filter((row) => MARKS.has(row.type)).map((row) => ({ ...pointOf(row), seq: row.seq, type: row.type, node: row.cluster, count: row.count })) };
}

const MARKS = new Set(["leader.round", "leader.committed", "election.failed"]);
const pointOf = (row) => ({ at_us: row.at_us, order: row.seq });

function foldMessages(rows, again) {
  const by_number = new Map();
  const by_seq = new Map();
  const found = [];
  for (const row of rows) {
    if (!row.type.startsWith("protocol.")) continue;
    if (row.type === "protocol.sent") {
      const asked = row.reason === "leader-wanted" ? by_seq.get(row.cause_seq) : undefined;
      const message = asked ? passedOn(asked, row) : sentBy(row, again);
      if (!asked) found.push(message);
      by_number.set(row.count, message);
    }
    const message = by_number.get(row.count);
    if (!message) continue; // sent before the window
    if (!message.seqs.includes(row.seq)) message.seqs.push(row.seq);
    by_seq.set(row.seq, message);
    TAKES[row.type]?.(message, row);
  }
  for (const message of found) addLocalArrival(message);
  return found;
}

const TAKES = {
  "protocol.arrived": (message, row) => message.arrivals.push(pointOf(row)),
  "protocol.lost": (message, row) => (message.lost = { ...pointOf(row), why: row.detail }),
  "protocol.delayed": (message, row) => (message.delayed_us = row.duration_us),
  "protocol.duplicated": (message) => (message.doubled = true),
};

function sentBy(row, again) {
  const to_leader = TO_LEADER.has(row.reason);
  return {
    number: row.count,
    seq: row.seq,
    seqs: [row.seq],
    kind: row.reason,
    client: row.client,
    stream: row.topic ?? null,
    position: row.entry ?? null,
    from: to_leader ? sessionLine(row.client) : leaderLine(row.cluster),
    to: to_leader ? leaderLine(row.peer) : sessionLine(row.client),
    sent: pointOf(row),
    arrivals: [],
    lost: null,
    delayed_us: 0,
    doubled: false,
    again: again.has(row.seq),
    unanswered: row.reason === "leader-wanted",
    remote: row.cluster !== row.peer,
  };
}

/** A borrower's request to its node's registry is forwarded to the leader: both are drawn as one message. */
function passedOn(asked, row) {
  asked.to = leaderLine(row.peer);
  asked.unanswered = false;
  asked.remote = row.cluster !== row.peer;
  asked.sent = asked.remote ? pointOf(row) : asked.sent;
  return asked;
}

/** A message within one node has no row of its arrival: it arrives at once, or after its delay. */
function addLocalArrival(message) {
  if (message.remote || message.lost || message.unanswered) return;
  message.arrivals.push({ at_us: message.sent.at_us + message.delayed_us, order: message.delayed_us ? Infinity : message.sent.order + 0.5 });
}

function foldLives(rows) {
  const leaders = new Map();
  const borrowers = new Map();
  const known = new Map();
  const leases = [];
  const open = new Map();
  const close = (key, row) => {
    if (!open.has(key)) return;
    open.get(key).until = pointOf(row);
    open.delete(key);
  };
  for (const row of rows) {
    const who = `${row.client}/${row.count}`;
    if (row.type === "leader.elected") leaders.set(row.count, { number: row.count, node: row.cluster, seq: row.seq, from: pointOf(row), until: null, why: null });
    else if (row.type === "leader.ended" && leaders.has(row.count)) Object.assign(leaders.get(row.count), { until: pointOf(row), why: row.reason });
    else if (row.type === "borrower.joined") known.set(who, { client: row.client, number: row.count, from: pointOf(row), until: null, why: null });
    else if (row.type === "borrower.dropped" && known.has(who)) Object.assign(known.get(who), { until: pointOf(row), why: row.reason });
    else if (row.type === "borrower.changed") {
      if (!borrowers.has(who)) borrowers.set(who, { client: row.client, number: row.count, states: [], until: null });
      const one = borrowers.get(who);
      if (row.reason !== "gone") one.states.push({ ...pointOf(row), state: row.reason, seq: row.seq });
      else {
        one.until = { ...pointOf(row), why: row.detail };
        for (const key of [...open.keys()]) if (key.startsWith(`${who}/`)) close(key, row);
      }
    } else if (row.type === "lease.changed") {
      const key = `${who}/${row.topic}`;
      close(key, row);
      if (row.reason !== "absent" && !borrowers.get(who)?.until) {
        const lease = { client: row.client, number: row.count, stream: row.topic, state: row.reason, seq: row.seq, from: pointOf(row), until: null };
        leases.push(lease);
        open.set(key, lease);
      }
    }
  }
  return { leaders: [...leaders.values()], borrowers: [...borrowers.values()], known: [...known.values()], leases };
}

/** Per session, when a leader sent ping responses and when they arrived: the deadlines of both sides are computed from them. */
function foldPongs(before, messages) {
  const pongs = { sent: {}, arrived: {} };
  const put = (side, client, at_us) => (pongs[side][client] ??= []).push(at_us);
  for (const row of before) {
    if (row.type === "protocol.sent") put("sent", row.client, row.at_us);
    if (row.type === "protocol.arrived" || (row.type === "protocol.sent" && row.cluster === row.peer)) put("arrived", row.client, row.at_us);
  }
  for (const message of messages) {
    if (message.kind !== "ping-response") continue;
    put("sent", message.client, message.sent.at_us);
    for (const arrival of message.arrivals) put("arrived", message.client, arrival.at_us);
  }
  return pongs;
}

/**
 * The two deadlines of each borrower: when its leader drops it, and when it stops reading by itself.
 * @param {ReturnType<typeof foldNodeMessages>} folded
 * @param {Object<string, number>} spans_us settings of the group's timers
 * @param {number} now_us
 * @returns {{client: string, number: number, side: "leader" | "borrower", from_us: number, until_us: number, expires_us: number, ended: boolean}[]}
 *   `until_us` is the end of the band so far, `expires_us` the deadline
 */
export function deadlinesOf({ known, borrowers, leaders, pongs }, spans_us, now_us) {
  /** @type {{client: string, number: number, side: "leader" | "borrower", from_us: number, until_us: number, expires_us: number, ended: boolean}[]} */
  const found = [];
  const last = (side, client, from_us, end_us) => (pongs[side][client] ?? []).filter((at_us) => at_us >= from_us && at_us <= end_us).at(-1) ?? from_us;
  for (const one of known) {
    const leader_end = leaders.map(({ until }) => until?.at_us ?? Infinity).filter((at_us) => at_us >= one.from.at_us);
    const end_us = Math.min(one.until?.at_us ?? Infinity, ...leader_end, now_us);
    const expires_us = last("sent", one.client, one.from.at_us, end_us) + spans_us.leader_borrower_timeout;
    found.push({ client: one.client, number: one.number, side: "leader", from_us: one.from.at_us, until_us: Math.min(end_us, expires_us), expires_us, ended: end_us < now_us });
  }
  for (const one of borrowers) {
    const connected = one.states.find(({ state }) => state !== "connecting");
    if (!connected) continue;
    const end_us = Math.min(one.until?.at_us ?? Infinity, now_us);
    const expires_us = last("arrived", one.client, connected.at_us, end_us) + spans_us.session_ping_leader_interval + spans_us.session_ping_leader_timeout;
    found.push({ client: one.client, number: one.number, side: "borrower", from_us: connected.at_us, until_us: end_us, expires_us, ended: end_us < now_us });
  }
  return found;
}

/** Times in which a borrower still reads although its leader has dropped it: two may read one stream. */
export function overlapsOf(deadlines) {
  return deadlines
    .filter(({ side }) => side === "borrower")
    .map((reads) => ({ reads, counted: deadlines.find((one) => one.side === "leader" && one.client === reads.client && one.number === reads.number) }))
    .filter(({ reads, counted }) => counted && counted.until_us < reads.until_us)
    .map(({ reads, counted }) => ({ client: reads.client, number: reads.number, from_us: counted.until_us, until_us: reads.until_us }));
}

/** @returns {string} a message as one line of the list beside the picture */
export function wordsOfMessage(message) {
  const about = message.stream === null ? "" : ` of ${message.stream}`;
  const at = message.position === null ? "" : ` at ${message.position}`;
  const fate = [];
  if (message.again) fate.push("resent");
  if (message.delayed_us) fate.push("delayed");
  if (message.doubled) fate.push("duplicated");
  if (message.lost) fate.push(`lost: ${message.lost.why}`);
  if (message.unanswered) fate.push("no leader");
  return `${message.kind}${about}${at}, ${lineWords(message.from)} to ${lineWords(message.to)}${fate.length ? ` (${fate.join(", ")})` : ""}`;
}

export const lineWords = (line) => (line.startsWith("leader ") ? `the leader at ${line.slice(7)}` : line.slice(8));
