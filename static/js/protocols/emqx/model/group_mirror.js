/** A group lab's instant in words: leader, clients, streams, links, as lists of plain sentences. */

import { clientOf, clientsOf, countsOf, isDoubled, isOver, isUnread, leaderOf, tapesOf } from "./groups.js";
import { counted, seconds, span } from "../../../model/format.js";
import { badgeOf, figuresOf } from "./rounds.js";

/** Streams and clients told one by one; the others are counted. */
const TOLD_MAX = 40;

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
  return lines.length <= TOLD_MAX ? lines : [...lines.slice(0, TOLD_MAX), `And ${counted(lines.length - TOLD_MAX, `more ${word}`)}.`];
}

function linesOfLeader(state, name, tapes) {
  const group = state.view.groups[name];
  const leading = leaderOf(group);
  const { unread, doubled, streams, over } = countsOf(tapes);
  const counts = `${counted(streams - over, "stream")}, ${unread} read by nobody, ${doubled} by two clients.`;
  if (!leading) return [group.claim ? `Leader ${group.claim.leader} at ${group.claim.node} is dead and believed for ${span(Math.max(0, group.claim.until_us - state.at_us))} more.` : "There is none.", counts];
  const { leader, number } = leading;
  const { again = 0, acknowledged = 0 } = group.repeats.leader ?? {};
  return [
    `Leader ${number} runs at ${leader.node} and knows ${counted(Object.keys(leader.borrowers).length, "borrower")}; its streams are ${leader.balanced ? "" : "not "}dealt evenly. The group is ${badgeOf(group).words}.`,
    counts,
    ...costLine(group),
    `It committed at ${seconds(leader.committed_us, 2)} s and does so again at ${seconds(leader.heartbeat_us ?? state.at_us, 2)} s. If it crashed now, ${counted(again, "message")} would come again, ${acknowledged} of them acknowledged.`,
  ];
}

function costLine(group) {
  const lines = figuresOf(group).map(({ name, value, note }) => `${name}: ${value} (${note})`);
  return lines.length ? [`So far: ${lines.join("; ")}.`] : [];
}

function lineOfClient(state, client) {
  const parts = client.incarnations.map((one) => {
    const own = one.own ? `borrower ${one.id} is ${one.own.state}${one.own.until_us === null ? "" : `, reads on for ${span(Math.max(0, one.own.until_us - state.at_us))} if it hears nothing`}` : `borrower ${one.id} is a ghost: gone, and known to the leader`;
    return `${own}; ${one.known ? `its leader believes in it for ${span(Math.max(0, one.known.deadline_us - state.at_us))}` : "its leader does not know it"}`;
  });
  return `${client.name} at ${client.node} is ${client.online ? "online" : "offline"}${client.paused ? " and acknowledges nothing" : ""}${parts.length ? `: ${parts.join("; ")}` : ""}.`;
}

const NOW = { granted: "reads it", revoking: "lets it go", absent: "finishes a chunk of it" };

function lineOfTape(tape) {
  if (isOver(tape)) return `${tape.name} is read to its end.`;
  const believed = tape.believed?.owner ? `the leader believes in ${clientOf(tape.believed.owner)} (${tape.believed.state})` : tape.believed ? "the leader has nobody for it" : "the leader has not found it";
  const readers = tape.readers.map((reader) => `${reader.client} ${NOW[reader.lease]}, ${reader.delivered} of ${tape.length} delivered, ${reader.acknowledged} acknowledged`).join("; ");
  const odd = isDoubled(tape) ? " Two readers at once." : tape.believed?.starved ? " Nobody reads it: its owner obeyed a late revoke." : isUnread(tape) ? " Nobody reads it." : "";
  return `${tape.name}: ${believed}; ${readers ? `${readers}; ` : ""}${tape.believed ? `${tape.believed.position} reported, ` : ""}${tape.committed} committed.${odd}`;
}
