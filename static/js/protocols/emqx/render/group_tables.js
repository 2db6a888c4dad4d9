/** The table beside a group lab: how many messages each crash would redeliver now, and the state of the streams. */

import { counted, seconds, span, whole } from "../../../model/format.js";
import { clientOf, clientsOf, countsOf, figuresOf, isDoubled, leaderOf, messageWords, tapesOf } from "../model/groups.js";
import { element, required } from "../../../render/dom.js";
import { columnHeads, headCell, renew } from "../../../render/terms.js";
import { listenToZeroRows, withZeroRows } from "../../../render/zero_rows.js";

/** Number of clients listed, those with most redeliveries first. */
const LISTED = 6;
/** Figures that are added to the table; the others are in it already. */
const SHOWN = new Set(["handover time", "duplicates so far"]);

export function makeGroupRisk(document, root) {
  const box = required(root, "[data-part=risk]");
  let shown = "";
  let drawn = {};
  listenToZeroRows(box);
  return {
    update(state, watched) {
      if (watched.group === null || (state === drawn.state && watched.group === drawn.group)) return;
      drawn = { state, group: watched.group };
      const group = state.view.groups[watched.group];
      const { unread, doubled, streams, over } = countsOf(tapesOf(state, watched.group));
      const sessions = Object.entries(group.repeats.sessions).sort(([, a], [, b]) => b.again - a.again);
      const leading = leaderOf(group);
      const facts = { leader: group.repeats.leader, sessions: sessions.slice(0, LISTED), more: sessions.length - LISTED, unread, doubled, streams, over, committed_us: leading?.leader.committed_us, cost: figuresOf(group), clients: clientsOf(state, watched.group).filter(({ online }) => online).length };
      const key = JSON.stringify([watched.group, facts]);
      if (key === shown) return;
      shown = key;
      renew(box, [crashes(document, watched.group, facts), presentFigures(document, facts)]);
    },
  };
}

function crashes(document, name, { leader, sessions, more }) {
  const head = element(document, "tr", {}, columnHeads(document, ["A crash now", "redelivered", "of these acked"]));
  const lines = [["leader crash", leader], ...sessions.map(([client, figures]) => [{ name: `${client} killed` }, figures])];
  const rows = lines.map(([words, figures]) => rowOf(document, words, figures ? [[figures.again, figures.again ? "td.harm-text.on" : "td.zero"], [figures.acknowledged, figures.acknowledged ? "td" : "td.zero"]] : [["–", "td.zero"], ["–", "td.zero"]]));
  if (more > 0) rows.push(rowOf(document, { name: `${whole(more)} more` }, [["not more", "td"], ["", "td"]]));
  return element(document, "table", { "aria-label": `Redeliveries if something crashed now, ${name}` }, [element(document, "thead", {}, [head]), element(document, "tbody", {}, rows)]);
}

function presentFigures(document, { unread, doubled, streams, over, committed_us, clients, cost }) {
  const lines = [
    ["streams", streams - over, ""],
    ["without a reader", unread, "harm"],
    ["with two readers", doubled, "harm"],
    ["clients online", clients, ""],
    ["last commit", committed_us === undefined ? "–" : `${seconds(committed_us, 2)} s`, ""],
    ...cost.filter(({ name }) => SHOWN.has(name)).map(({ name, value }) => [name, value === "0" ? 0 : value, ""]),
  ];
  return element(document, "table", { "aria-label": "Current state" }, [element(document, "tbody", {}, withZeroRows(document, lines.map(([words, value, tone]) => ({ row: rowOf(document, words, [[value, tone === "harm" && value > 0 ? "td.harm-text.on" : value === 0 ? "td.zero" : "td"]]), name: words, zero: value === 0 })), 2))]);
}

function rowOf(document, head, cells) {
  return element(document, "tr", {}, [headCell(document, "row", head), ...cells.map(([value, tag]) => element(document, tag, { text: typeof value === "number" ? whole(value) : value }))]);
}

/** Inspector content for a thing of a group lab: leader, client with borrowers, stream, chunk, message, protocol message. */

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
