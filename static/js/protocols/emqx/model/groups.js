/**
 * A group lab as the diagram needs it, from `world.view()`: its leader, clients with their borrowers, streams as tapes.
 * What a leader assigned and what clients actually do are kept separately. Plain values; positions are offsets of the next message.
 *
 * @typedef {object} Incarnation a borrower of a client
 * @property {string} id "session/number"
 * @property {object | null} own the borrower in its session; null: only a leader still lists it
 * @property {object | null} known the borrower in the leader's table; null: the leader does not list it
 */
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

import { counted, whole } from "../../../model/format.js";

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
