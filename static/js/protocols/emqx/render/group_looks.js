/** Inspector content for a thing of a group lab: leader, client with borrowers, stream, chunk, message, protocol message. */

import { clientOf, clientsOf, isDoubled, leaderOf, tapesOf } from "../model/groups.js";
import { counted, seconds, span } from "../../../model/format.js";
import { messageWords } from "../model/group_words.js";
import { element } from "../../../render/dom.js";
import { columnHeads } from "../../../render/terms.js";

/**
 * @param {Document} document
 * @param {import("../../../model/state.js").LabState} state
 * @param {{group: string}} watched
 * @param {object} thing as returned by the group stage
 * @returns {{title: string, term: string, nodes: Node[]} | null} term: glossary entry of the title
 */
export function inspectorOf(document, state, watched, thing) {
  const look = LOOKS[thing.kind];
  return look ? look({ document, state, group: state.view.groups[watched.group], name: watched.group, thing, table: tableOf(document), words: (text) => element(document, "p", { text }) }) : null;
}

const tableOf = (document) => (head, rows) =>
  element(document, "table.places", {}, [
    element(document, "thead", {}, [element(document, "tr", {}, columnHeads(document, head))]),
    element(document, "tbody", {}, rows.map(([first, ...rest]) => element(document, "tr", {}, [element(document, "th", { text: first, scope: "row" }), ...rest.map((text) => element(document, "td", { text: String(text) }))]))),
  ]);

const left = (state, us) => (us === null || us === undefined ? "–" : span(Math.max(0, us - state.at_us)));

const LOOKS = { leader: leaderDetails, client: clientDetails, stream: streamDetails, chunk: chunkDetails, message: messageDetails, flight: flightDetails };

function leaderDetails({ state, group, name, table, words }) {
  const leading = leaderOf(group);
  if (!leading) return { title: `No leader of ${name}`, term: "leader", nodes: [words(group.claim ? `Leader ${group.claim.leader} at ${group.claim.node} is dead. Its claim of ${seconds(group.claim.heartbeat_us, 2)} s is valid until ${seconds(group.claim.until_us, 2)} s: no other leader is elected before.` : "A leader is elected at the node of the first borrower that looks for one.")] };
  const { number, leader } = leading;
  return {
    title: `Leader ${number} of ${name}`,
    term: "leader",
    nodes: [
      words(`At ${leader.node}. ${counted(leader.rounds.count, "rebalance")} so far, the last at ${seconds(leader.rounds.last_us, 2)} s; next commit at ${seconds(leader.heartbeat_us ?? state.at_us, 2)} s. ${leader.balanced ? "Balanced" : "Not balanced"}, ${leader.stable ? "no grant or revoke in progress" : "grants or revokes in progress"}.`),
      table(["borrower", "streams", "target", "dropped in"], Object.entries(leader.borrowers).map(([id, one]) => [id, one.streams, one.target, left(state, one.deadline_us)])),
      table(["stream", "state", "owner", "reported"], Object.entries(leader.streams).filter(([, one]) => one).slice(0, 200).map(([stream, one]) => [stream, one.state, one.owner ?? "unassigned", one.position])),
    ],
  };
}

function clientDetails({ state, name, thing, table, words }) {
  const client = clientsOf(state, name).find((one) => one.name === thing.client);
  const session = state.view.sessions[thing.client];
  const held = tapesOf(state, name).flatMap((tape) => tape.readers.filter((one) => one.client === thing.client).map((one) => [tape.name, one.lease, one.acknowledged, one.delivered]));
  const figures = state.view.groups[name].repeats.sessions[thing.client];
  return {
    title: thing.client,
    term: "session",
    nodes: [
      words(`At ${session.node}, ${session.state}${session.acks_paused ? ", acknowledges nothing" : ""}. ${counted(session.in_flight, "message")} in flight to it. Subscriptions: ${session.subscriptions.join(", ") || "none"}.${session.private_streams ? ` ${counted(session.private_streams, "stream")} of its own.` : ""}`),
      ...(figures ? [words(`If its session were killed now, ${counted(figures.again, "message")} would be redelivered, ${figures.acknowledged} of them acknowledged.`)] : []),
      table(["borrower", "state", "keeps reading for", "leader drops it in"], (client?.incarnations ?? []).map((one) => [one.id, one.own?.state ?? "stale", left(state, one.own?.until_us), one.known ? left(state, one.known.deadline_us) : "not in its table"])),
      ...(held.length ? [table(["stream", "lease", "acknowledged", "delivered"], held.slice(0, 200))] : []),
    ],
  };
}

function streamDetails({ state, name, thing, table, words }) {
  const tape = tapesOf(state, name).find((one) => one.name === thing.stream);
  const leader_entry = tape.leader_entry ? `In the leader's table: ${tape.leader_entry.state}${tape.leader_entry.owner ? `, ${tape.leader_entry.owner}` : ""}.` : "Not in the leader's table.";
  return {
    title: `Stream ${tape.name}`,
    term: "stream",
    nodes: [
      words(`Shard ${tape.shard}, generation ${tape.generation}, topic ${tape.topic}: ${counted(tape.length, "message")}${tape.closed ? ", closed" : ""}. ${leader_entry}${isDoubled(tape) ? " It has two readers: new messages are delivered to both." : ""}`),
      table([["cursor", "cursor of a stream"], ["position", "cursor of a stream"], "messages up to the next"], cursorsOf(tape)),
      table(["reader", "lease", "acknowledged", "delivered"], tape.readers.map((one) => [one.id, one.lease, one.acknowledged, one.delivered])),
      words(`${counted(tape.again.leader, "message")} would be redelivered if the leader crashed now${tape.again.kill ? `, ${tape.again.kill} if ${clientOf(tape.leader_entry.owner)} was killed` : ""}.`),
    ],
  };
}

/** The four cursors, with the number of messages up to the next one: what the corresponding crash redelivers. */
function cursorsOf(tape) {
  const reader = tape.readers.find((one) => one.id === tape.leader_entry?.owner) ?? tape.readers[0];
  const reported = tape.leader_entry?.position ?? tape.committed;
  const gap = (count, why) => (count > 0 ? `${count} ${why}` : "0");
  return [
    ["committed", tape.committed, gap(reported - tape.committed, "redelivered if the leader crashes")],
    ["reported", tape.leader_entry?.position ?? "–", reader ? gap(reader.acknowledged - reported, "redelivered if the client is killed") : "–"],
    ["acknowledged", reader?.acknowledged ?? "–", reader ? gap(reader.delivered - reader.acknowledged, "delivered, not acked") : "–"],
    ["delivered", reader?.delivered ?? "–", gap(tape.length - (reader?.delivered ?? tape.handed), "unread")],
  ];
}

function chunkDetails(given) {
  const { state, name, thing, words } = given;
  const tape = tapesOf(state, name).find((one) => one.name === thing.stream);
  const reader = tape?.readers.find((one) => one.id === thing.reader);
  if (!reader?.chunk) return streamDetails(given);
  const [first, end] = reader.chunk;
  return {
    title: `Chunk ${first} to ${end - 1}`,
    term: "chunk",
    nodes: [
      words(`${reader.client} fetched ${counted(end - first, "message")} of ${thing.stream} at once: ${reader.delivered - first} delivered, ${reader.acknowledged - first} acknowledged.`),
      words("Its progress is reported when all of it is acknowledged; a new reader starts at its first message."),
      words(messageWords(tape, thing.offset)),
    ],
  };
}

function messageDetails({ state, name, thing, words }) {
  const tape = tapesOf(state, name).find((one) => one.name === thing.stream);
  return { title: `Message ${thing.offset} of ${thing.stream}`, term: "message", nodes: [words(messageWords(tape, thing.offset))] };
}

function flightDetails({ thing: { flight }, words }) {
  return {
    title: `${flight.what}, message ${flight.number}`,
    term: "protocol message",
    nodes: [
      words(`From ${flight.from} to ${flight.to}, of borrower ${flight.borrower}${flight.stream ? `, about ${flight.stream}` : ""}. Sent at ${seconds(flight.sent_us)} s, arrives at ${seconds(flight.due_us)} s.`),
      words("It carries no sequence number and no epoch: the receiver cannot recognise a late or duplicated one."),
    ],
  };
}
