/** A look inside a thing of a group lab, as nodes for the inspector: the leader, a client with its borrowers, a stream, a chunk, a message, something said. */

import { clientOf, clientsOf, isDoubled, leaderOf, tapesOf } from "../model/groups.js";
import { counted, seconds, span } from "../../../model/format.js";
import { messageWords } from "../model/group_words.js";
import { element } from "../../../render/dom.js";

/**
 * @param {Document} document
 * @param {import("../../../model/state.js").LabState} state
 * @param {{group: string}} watched
 * @param {object} thing as the group stage gives it
 * @returns {{title: string, nodes: Node[]} | null}
 */
export function lookInside(document, state, watched, thing) {
  const look = LOOKS[thing.kind];
  return look ? look({ document, state, group: state.view.groups[watched.group], name: watched.group, thing, table: tableOf(document), words: (text) => element(document, "p", { text }) }) : null;
}

const tableOf = (document) => (head, rows) =>
  element(document, "table.places", {}, [
    element(document, "thead", {}, [element(document, "tr", {}, head.map((text) => element(document, "th", { text, scope: "col" })))]),
    element(document, "tbody", {}, rows.map(([first, ...rest]) => element(document, "tr", {}, [element(document, "th", { text: first, scope: "row" }), ...rest.map((text) => element(document, "td", { text: String(text) }))]))),
  ]);

const left = (state, us) => (us === null || us === undefined ? "–" : span(Math.max(0, us - state.at_us)));

const LOOKS = { leader: lookAtLeader, client: lookAtClient, stream: lookAtStream, chunk: lookAtChunk, message: lookAtMessage, flight: lookAtFlight };

function lookAtLeader({ state, group, name, table, words }) {
  const leading = leaderOf(group);
  if (!leading) return { title: `No leader of ${name}`, nodes: [words(group.claim ? `Leader ${group.claim.leader} at ${group.claim.node} is dead. Its claim of ${seconds(group.claim.heartbeat_us, 2)} s is believed until ${seconds(group.claim.until_us, 2)} s: until then no other is elected.` : "One is elected at the node of the first borrower that asks.")] };
  const { number, leader } = leading;
  return {
    title: `Leader ${number} of ${name}`,
    nodes: [
      words(`At ${leader.node}. ${counted(leader.rounds.count, "round")} so far, the last at ${seconds(leader.rounds.last_us, 2)} s; it commits at ${seconds(leader.heartbeat_us ?? state.at_us, 2)} s. ${leader.balanced ? "Dealt evenly" : "Not dealt evenly"}, ${leader.stable ? "nothing on its way" : "some streams on their way"}.`),
      table(["borrower", "streams", "target", "believed for"], Object.entries(leader.borrowers).map(([id, one]) => [id, one.streams, one.target, left(state, one.deadline_us)])),
      table(["stream", "state", "owner", "reported"], Object.entries(leader.streams).filter(([, one]) => one).slice(0, 200).map(([stream, one]) => [stream, one.state, one.owner ?? "nobody", one.position])),
    ],
  };
}

function lookAtClient({ state, name, thing, table, words }) {
  const client = clientsOf(state, name).find((one) => one.name === thing.client);
  const session = state.view.sessions[thing.client];
  const held = tapesOf(state, name).flatMap((tape) => tape.readers.filter((one) => one.client === thing.client).map((one) => [tape.name, one.lease, one.acknowledged, one.delivered]));
  const figures = state.view.groups[name].repeats.sessions[thing.client];
  return {
    title: thing.client,
    nodes: [
      words(`At ${session.node}, ${session.state}${session.acks_paused ? ", acknowledges nothing" : ""}. ${counted(session.in_flight, "message")} in flight to it. Subscriptions: ${session.subscriptions.join(", ") || "none"}.${session.private_streams ? ` ${counted(session.private_streams, "stream")} of its own.` : ""}`),
      ...(figures ? [words(`If its session were killed now, ${counted(figures.again, "message")} would come again, ${figures.acknowledged} of them acknowledged.`)] : []),
      table(["borrower", "state", "reads on for", "believed for"], (client?.incarnations ?? []).map((one) => [one.id, one.own?.state ?? "ghost", left(state, one.own?.until_us), one.known ? left(state, one.known.deadline_us) : "unknown"])),
      ...(held.length ? [table(["stream", "lease", "acknowledged", "delivered"], held.slice(0, 200))] : []),
    ],
  };
}

function lookAtStream({ state, name, thing, table, words }) {
  const tape = tapesOf(state, name).find((one) => one.name === thing.stream);
  const believed = tape.believed ? `The leader: ${tape.believed.state}${tape.believed.owner ? `, ${tape.believed.owner}` : ""}.` : "The leader does not know it.";
  return {
    title: `Stream ${tape.name}`,
    nodes: [
      words(`Shard ${tape.shard}, generation ${tape.generation}, topic ${tape.topic}: ${counted(tape.length, "message")}${tape.closed ? ", closed" : ""}. ${believed}${isDoubled(tape) ? " Two read it at once: messages of now come to both." : ""}`),
      table(["cursor", "position", "to the next"], cursorsOf(tape)),
      table(["reader", "lease", "acknowledged", "delivered"], tape.readers.map((one) => [one.id, one.lease, one.acknowledged, one.delivered])),
      words(`${counted(tape.again.leader, "message")} would come again if the leader crashed now${tape.again.kill ? `, ${tape.again.kill} if ${clientOf(tape.believed.owner)} was killed` : ""}.`),
    ],
  };
}

/** The four cursors with what lies between each and the next: what that crash repeats. */
function cursorsOf(tape) {
  const reader = tape.readers.find((one) => one.id === tape.believed?.owner) ?? tape.readers[0];
  const reported = tape.believed?.position ?? tape.committed;
  const gap = (count, why) => (count > 0 ? `${count} ${why}` : "nothing");
  return [
    ["committed", tape.committed, gap(reported - tape.committed, "a leader crash forgets")],
    ["reported", tape.believed?.position ?? "–", reader ? gap(reader.acknowledged - reported, "not reported: a kill repeats them") : "–"],
    ["acknowledged", reader?.acknowledged ?? "–", reader ? gap(reader.delivered - reader.acknowledged, "in hand") : "–"],
    ["delivered", reader?.delivered ?? "–", gap(tape.length - (reader?.delivered ?? tape.handed), "to read")],
  ];
}

function lookAtChunk(given) {
  const { state, name, thing, words } = given;
  const tape = tapesOf(state, name).find((one) => one.name === thing.stream);
  const reader = tape?.readers.find((one) => one.id === thing.reader);
  if (!reader?.chunk) return lookAtStream(given);
  const [first, end] = reader.chunk;
  return {
    title: `Chunk ${first} to ${end - 1}`,
    nodes: [
      words(`${reader.client} fetched ${counted(end - first, "message")} of ${thing.stream} at once: ${reader.delivered - first} delivered, ${reader.acknowledged - first} acknowledged.`),
      words("Nothing of it is reported before all of it is acknowledged: whoever has to begin again begins at its first message."),
      words(messageWords(tape, thing.offset)),
    ],
  };
}

function lookAtMessage({ state, name, thing, words }) {
  const tape = tapesOf(state, name).find((one) => one.name === thing.stream);
  return { title: `Message ${thing.offset} of ${thing.stream}`, nodes: [words(messageWords(tape, thing.offset))] };
}

function lookAtFlight({ thing: { flight }, words }) {
  return {
    title: `${flight.what}, message ${flight.number}`,
    nodes: [
      words(`From ${flight.from} to ${flight.to}, of borrower ${flight.borrower}${flight.stream ? `, about ${flight.stream}` : ""}. It left at ${seconds(flight.sent_us)} s and arrives at ${seconds(flight.due_us)} s.`),
      words("It carries no number and no epoch: who gets it late or twice cannot tell."),
    ],
  };
}
