/**
 * A group lab as the diagram needs it, from `world.view()`: its leader, clients with their borrowers, streams as tapes.
 * What a leader assigned and what clients actually do are kept separately. Plain values; positions are offsets of the next message.
 *
 * @typedef {object} Incarnation a borrower of a client
 * @property {string} id "session/number"
 * @property {object | null} own the borrower in its session; null: only a leader still lists it
 * @property {object | null} known the borrower in the leader's table; null: the leader does not list it
 */

import { counted, span, whole } from "../../../model/format.js";

/** @typedef {{name: string, number: number, node: string, online: boolean, paused: boolean, incarnations: Incarnation[]}} Client number: index among all clients, for hue and shape */
/** @typedef {{id: string, client: string, lease: string, acknowledged: number, delivered: number, chunk: number[] | null}} Reader */
/**
 * @typedef {object} Tape
 * @property {string} name "shard/generation/topic"
 * @property {string} shard
 * @property {string} generation
 * @property {string} topic
 * @property {number} length
 * @property {boolean} closed
 * @property {number} committed
 * @property {{state: string, position: number, owner: string | null, starved?: boolean} | null} leader_entry its entry in the leader's table; starved: its owner acted on a late revoke and no longer reads
 * @property {boolean} led whether a leader is alive
 * @property {Reader[]} readers
 * @property {number} handed the furthest position delivered or committed
 * @property {number[][]} duplicates ranges [first, after] of its duplicates, ascending
 * @property {{leader: number, kill: number}} again messages that each crash would redeliver
 */

/** @returns {string} "ada" of "ada/0" */
export const clientOf = (borrower) => borrower.slice(0, borrower.lastIndexOf("/"));

/** @returns {{number: string, leader: object} | null} the leader that has the claim, else the newest live one */
export function leaderOf(group) {
  const numbers = Object.keys(group.leaders).sort((a, b) => Number(b) - Number(a));
  const number = numbers.find((one) => Number(one) === group.claim?.leader) ?? numbers[0];
  return number === undefined ? null : { number, leader: group.leaders[number] };
}

/** Results computed from a state, cached: picture, headline, table and texts need the same, some in every animation frame. */
const computed = new WeakMap();

function once(state, key, compute) {
  if (!computed.has(state)) computed.set(state, new Map());
  const known = computed.get(state);
  if (!known.has(key)) known.set(key, compute());
  return known.get(key);
}

/** Clients that are or were in the group, or could join it: all clients when there is only one group. @returns {Client[]} */
export const clientsOf = (state, name) => once(state, `clients of ${name}`, () => computeClients(state, name));

function computeClients(state, name) {
  const { sessions, groups } = state.view;
  const group = groups[name];
  const known = leaderOf(group)?.leader.borrowers ?? {};
  const only = Object.keys(groups).length === 1;
  const names = Object.keys(sessions);
  const ghosts = new Map();
  for (const id of Object.keys(known)) ghosts.set(clientOf(id), [...(ghosts.get(clientOf(id)) ?? []), id]);
  return names
    .map((client, number) => {
      const session = sessions[client];
      const own = Object.keys(session.borrowers).filter((id) => session.borrowers[id].group === name);
      const ids = [...new Set([...(ghosts.get(client) ?? []), ...own])];
      const incarnations = ids.map((id) => ({ id, own: session.borrowers[id] ?? null, known: known[id] ?? null }));
      return { name: client, number, node: session.node, online: session.state === "online", paused: session.acks_paused, incarnations, shares: only || ids.length > 0 || session.subscriptions.includes(group.text) };
    })
    .filter((client) => client.shares);
}

/** @returns {Tape[]} the group's streams, in the order of the storage */
export const tapesOf = (state, name) => once(state, `tapes of ${name}`, () => computeTapes(state, name));

function computeTapes(state, name) {
  const group = state.view.groups[name];
  const leading = leaderOf(group);
  return Object.entries(group.streams).map(([stream, one]) => tapeOf(stream, { ...one, duplicates: group.duplicates?.[stream] ?? [] }, state.view.streams[stream], leading?.leader.streams[stream] ?? null, leading !== null));
}

function tapeOf(name, { committed, readers, duplicates }, kept, leader_entry, led) {
  const [shard, generation, ...topic] = name.split("/");
  const reading = Object.entries(readers).map(([id, one]) => ({ id, client: clientOf(id), ...one }));
  const handed = reading.reduce((most, one) => Math.max(most, one.delivered), Math.max(committed, leader_entry?.position ?? committed));
  const owner = leader_entry?.owner ? readers[leader_entry.owner] : undefined;
  return {
    name,
    shard,
    generation,
    topic: topic.join("/"),
    length: kept?.length ?? handed,
    closed: kept?.closed ?? false,
    committed,
    duplicates,
    leader_entry,
    led,
    readers: reading,
    handed,
    again: { leader: led ? handed - committed : 0, kill: owner ? Math.max(0, owner.delivered - leader_entry.position) : 0 },
  };
}

/** @returns {boolean} whether it is closed and read to its end */
export const isOver = (tape) => tape.closed && tape.committed >= tape.length && tape.readers.length === 0 && !tape.leader_entry?.owner;

/** The borrowers that still fetch from it: neither those that only finish a chunk, nor an owner that acted on a late revoke. */
export const fetching = (tape) => tape.readers.filter((one) => one.lease !== "absent" && !(tape.leader_entry?.starved && one.id === tape.leader_entry.owner));

/** @returns {boolean} whether two borrowers read it at once */
export const isDoubled = (tape) => tape.readers.length > 1;

/** How many of its messages were delivered again after an acknowledgement. */
export const duplicatesOf = (tape) => tape.duplicates.reduce((sum, [first, after]) => sum + after - first, 0);

/** Whether it has messages to read and no reader. */
export const isUnread = (tape) => fetching(tape).length === 0 && !isOver(tape);

/** The figures of a group: streams, streams without a reader, with two readers, and read to their end. */
export const countsOf = (tapes) => once(tapes, "counts", () => computeCounts(tapes));

function computeCounts(tapes) {
  let unread = 0;
  let doubled = 0;
  let over = 0;
  for (const tape of tapes) {
    if (isOver(tape)) over += 1;
    else if (isUnread(tape)) unread += 1;
    if (isDoubled(tape)) doubled += 1;
  }
  return { streams: tapes.length, unread, doubled, over };
}

/**
 * Folds tapes to strips.
 * @param {Tape[]} tapes
 * @param {"shard" | "client"} by
 * @returns {{key: string, tapes: Tape[], again: {leader: number, kill: number}, unread: number, doubled: number, duplicates: number}[]}
 */
export function foldsOf(tapes, by) {
  const folds = new Map();
  for (const tape of tapes) {
    const keys = by === "shard" ? [`${tape.shard}/${tape.generation}`] : readersOf(tape);
    for (const key of keys) {
      if (!folds.has(key)) folds.set(key, { key, tapes: [], again: { leader: 0, kill: 0 }, unread: 0, doubled: 0, duplicates: 0 });
      const fold = folds.get(key);
      fold.tapes.push(tape);
      fold.again.leader += tape.again.leader;
      fold.again.kill += tape.again.kill;
      fold.duplicates += duplicatesOf(tape);
      if (isUnread(tape)) fold.unread += 1;
      if (isDoubled(tape)) fold.doubled += 1;
    }
  }
  return [...folds.values()].sort((a, b) => a.key.localeCompare(b.key, "en", { numeric: true }));
}

function readersOf(tape) {
  const names = [...new Set(tape.readers.map((one) => one.client))];
  return names.length ? names : ["no reader"];
}

/** @returns {string[][]} each count of a strip with its shorter form, streams first, then the harm in the order of importance */
export function countsOfFold({ tapes, duplicates, doubled, unread, again }) {
  const run = (count, words, short = words) => (count ? [[`${whole(count)} ${words}`, `${whole(count)} ${short}`]] : []);
  return [
    [counted(tapes.length, "stream")],
    ...run(duplicates, "messages duplicated", "duplicated"),
    ...run(doubled, "with two readers"),
    ...run(unread, "without a reader"),
    ...run(again.leader, "redelivered if the leader crashes", "if the leader crashes"),
  ];
}

/** Describes the thing under the pointer in a group lab, in one line. */

const namedTape = (state, watched, name) => tapesOf(state, watched.group).find((one) => one.name === name);

const WORDS = {
  node: (state, watched, { node }) => `node ${node}: click to crash it or cut it off`,
  leader: () => "the leader: click to crash it or inspect it",
  client: (state, watched, { client }) => `${client}: click to kill it, pause its acknowledgements or inspect it`,
  flight: (state, watched, { flight }) => `${flight.what} of ${flight.client} in flight to ${flight.to}: click to drop, delay or duplicate it`,
  stream: (state, watched, { stream }) => `${stream}: click to inspect it`,
  fold: (state, watched, { key, counts }) => `${key}: ${counts.join(", ")}; click to expand`,
  chunk: (state, watched, { stream, offset }) => messageWords(namedTape(state, watched, stream), offset),
  message: (state, watched, { stream, offset }) => messageWords(namedTape(state, watched, stream), offset),
};

/** @returns {string} */
export const groupThingWords = (state, watched, thing) => WORDS[thing.kind](state, watched, thing);

/** @returns {string} state of one message for each reader, the leader and the store */
export function messageWords(tape, offset) {
  const facts = tape.readers.map((one) => `${offset < one.acknowledged ? "acknowledged by" : offset < one.delivered ? "delivered, not acked by" : "not delivered to"} ${one.client}`);
  const reported = tape.leader_entry ? `${offset < tape.leader_entry.position ? "" : "not "}reported to the leader` : "its stream is not in the leader's table";
  const again = tape.duplicates.some(([first, after]) => first <= offset && offset < after) ? ["duplicate: delivered again after an acknowledgement"] : [];
  return `Message ${offset}: ${[...again, ...facts, reported, `${offset < tape.committed ? "" : "not "}committed`].join(", ")}.`;
}

/** A group's rounds and figures as texts and numbers: timers of its leader, whether it is stable, its costs so far. */

/**
 * @param {import("../../../model/state.js").LabState} state
 * @param {string} group
 * @returns {{name: string, whole_us: number, due_us: number[]}[]} timers of the leader, outermost first; empty without a leader
 */
export function timersOf(state, group) {
  const leading = leaderOf(state.view.groups[group]);
  if (!leading) return [];
  const { rounds, periodical_us, heartbeat_us } = leading.leader;
  const { spans_us } = state.view;
  return [
    { name: "next rebalance", whole_us: spans_us.leader_renew_streams_interval, due_us: rounds.due_us },
    { name: "next check of deadlines and resends", whole_us: spans_us.leader_periodical_actions_interval, due_us: [periodical_us] },
    { name: "next commit", whole_us: spans_us.leader_heartbeat_interval, due_us: [heartbeat_us] },
  ].map((timer) => ({ ...timer, due_us: timer.due_us.filter((us) => us !== null) }));
}

/** @returns {{stable: boolean, words: string}} whether the group is stable, and what is missing */
export function badgeOf({ stability, figures }) {
  const { leaders, unowned, on_their_way, starved = 0, unread, held, spread } = stability;
  const doubled = figures?.two_readers_now ?? 0;
  const stable = stability.stable && doubled === 0;
  if (stability.stable && !stable) return { stable, words: `stable for its leader, but ${counted(doubled, "stream has", "streams have")} two readers` };
  if (stable) return { stable, words: "stable" };
  if (leaders !== 1) return { stable, words: `not stable: ${leaders === 0 ? "no leader" : `${leaders} leaders`}` };
  const streams = (count, words) => (count > 0 ? [`${counted(count, "stream")} ${words}`] : []);
  const missing = [...streams(unowned, "unassigned"), ...streams(on_their_way, "being granted or revoked"), ...streams(starved, "starved: granted, but the owner acted on a late revoke"), ...streams(unread, "not read by the owner"), ...streams(held, "held by a client that acknowledges nothing"), ...(spread > 1 ? [`shares differ by ${spread}`] : [])];
  return { stable, words: `not stable: ${missing.join(", ")}` };
}

/** @returns {{name: string, value: string, note: string, harm: boolean}[]} */
export function figuresOf({ figures }) {
  if (!figures) return [];
  const { handover_us: gap } = figures;
  const some = figures.handovers > 0;
  return [
    { name: "streams without a reader", value: whole(figures.unowned_now), note: `${span(figures.unowned_us)} so far, the sum over all streams`, harm: figures.unowned_now > 0 },
    { name: "handover time", value: some ? `${gapWords(gap.p50)}, median of ${whole(figures.handovers)}` : "–", note: some ? `from one reader of a stream to the next; 95 % within ${span(gap.p95)}, longest ${span(gap.max)}` : "no handover so far", harm: false },
    { name: "duplicates so far", value: whole(figures.duplicates), note: `and ${counted(figures.redeliveries, "redelivery", "redeliveries")} of unacknowledged messages${figures.pending_repeats ? `; ${counted(figures.pending_repeats, "message")} still to be delivered again` : ""}`, harm: figures.duplicates > 0 },
    { name: "streams with two readers", value: whole(figures.two_readers_now), note: figures.two_readers ? `${counted(figures.two_readers, "time")} so far, ${span(figures.two_readers_us)} in all` : "none so far", harm: figures.two_readers_now > 0 },
  ];
}

/** A handover's time without a reader; there is none when the next client began before or when the last one ended. */
const gapWords = (gap_us) => (gap_us === 0 ? "no gap" : span(gap_us));

/** @returns {{at_us: number, seq: number, words: string}[]} rounds that changed something, newest first */
export function roundsOf(rows, group, most) {
  return rows
    .filter((row) => row.subscription === group)
    .slice(-most)
    .reverse()
    .map((row) => ({ at_us: row.at_us, seq: row.seq, words: `leader ${row.count} assigned ${counted(row.entry, "stream")} to ${counted(row.sequence_id, "borrower")}` }));
}
