/** The text view of a group lab: leader, clients and streams as lists of plain sentences. */

import { clientOf, clientsOf, countsOf, isDoubled, isOver, isUnread, leaderOf, tapesOf } from "./groups.js";
import { counted, seconds, span } from "../../../model/format.js";
import { badgeOf, figuresOf } from "./rounds.js";

/** Number of streams and clients that are listed one by one; the others are counted. */
const LINES_MAX = 40;

/** @returns {{title: string, lines: string[]}[]} */
export function groupMirror(state, watched) {
  if (watched.group === null) return [];
  const tapes = tapesOf(state, watched.group);
  return [
    { title: `Leader of ${watched.group}`, lines: linesOfLeader(state, watched.group, tapes) },
    { title: "Clients", lines: someOf(clientsOf(state, watched.group).map((client) => lineOfClient(state, client)), "client") },
    { title: "Streams", lines: someOf(tapes.map(lineOfTape), "stream") },
    { title: "Nodes", lines: Object.entries(state.view.clusters).map(([name, node]) => `${name} is ${node.state}.`) },
  ];
}

function someOf(lines, word) {
  if (lines.length === 0) return [`No ${word}.`];
  return lines.length <= LINES_MAX ? lines : [...lines.slice(0, LINES_MAX), `And ${counted(lines.length - LINES_MAX, `more ${word}`)}.`];
}

function linesOfLeader(state, name, tapes) {
  const group = state.view.groups[name];
  const leading = leaderOf(group);
  const { unread, doubled, streams, over } = countsOf(tapes);
  const counts = `${counted(streams - over, "stream")}, ${unread} without a reader, ${doubled} with two readers.`;
  if (!leading) return [group.claim ? `Leader ${group.claim.leader} at ${group.claim.node} is dead; its claim is valid for ${span(Math.max(0, group.claim.until_us - state.at_us))} more.` : "No leader.", counts];
  const { leader, number } = leading;
  const { again = 0, acknowledged = 0 } = group.repeats.leader ?? {};
  return [
    `Leader ${number} runs at ${leader.node} with ${counted(Object.keys(leader.borrowers).length, "borrower")}; its streams are ${leader.balanced ? "" : "not "}balanced. The group is ${badgeOf(group).words}.`,
    counts,
    ...costLine(group),
    `Last commit ${seconds(leader.committed_us, 2)} s, next ${seconds(leader.heartbeat_us ?? state.at_us, 2)} s. If the leader crashed now, ${counted(again, "message")} would be redelivered, ${acknowledged} of them acknowledged.`,
  ];
}

function costLine(group) {
  const lines = figuresOf(group).map(({ name, value, note }) => `${name}: ${value} (${note})`);
  return lines.length ? [`So far: ${lines.join("; ")}.`] : [];
}

function lineOfClient(state, client) {
  const parts = client.incarnations.map((one) => {
    const own = one.own ? `borrower ${one.id} is ${one.own.state}${one.own.until_us === null ? "" : `, keeps reading for ${span(Math.max(0, one.own.until_us - state.at_us))} without a ping response`}` : `borrower ${one.id} is stale: it ended, and the leader still has it`;
    return `${own}; ${one.known ? `its leader drops it in ${span(Math.max(0, one.known.deadline_us - state.at_us))} without a ping` : "not in its leader's table"}`;
  });
  return `${client.name} at ${client.node} is ${client.online ? "online" : "offline"}${client.paused ? " and acknowledges nothing" : ""}${parts.length ? `: ${parts.join("; ")}` : ""}.`;
}

const NOW = { granted: "reads it", revoking: "is releasing it", absent: "finishes a chunk of it" };

function lineOfTape(tape) {
  if (isOver(tape)) return `${tape.name} is read to its end.`;
  const leader_entry = tape.leader_entry?.owner ? `assigned to ${clientOf(tape.leader_entry.owner)} (${tape.leader_entry.state})` : tape.leader_entry ? "unassigned" : "not found by the leader yet";
  const readers = tape.readers.map((reader) => `${reader.client} ${NOW[reader.lease]}, ${reader.delivered} of ${tape.length} delivered, ${reader.acknowledged} acknowledged`).join("; ");
  const odd = isDoubled(tape) ? " Two readers at once." : tape.leader_entry?.starved ? " Starved: its owner acted on a late revoke and does not read it." : isUnread(tape) ? " No client reads it." : "";
  return `${tape.name}: ${leader_entry}; ${readers ? `${readers}; ` : ""}${tape.leader_entry ? `${tape.leader_entry.position} reported, ` : ""}${tape.committed} committed.${odd}`;
}
