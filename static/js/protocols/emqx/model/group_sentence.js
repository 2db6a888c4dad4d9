/** The headline of a group lab: a present problem, or else the duplicates so far, or else what a crash would redeliver. The figures are the engine's. */

import { counted, seconds, span } from "../../../model/format.js";
import { badgeOf, clientOf, clientsOf, countsOf, fetching, figuresOf, isDoubled, isOver, isUnread, leaderOf, tapesOf } from "./groups.js";

/**
 * @param {import("../../../model/state.js").LabState} state
 * @param {{group: string | null}} watched
 * @returns {import("../../../render/sentence.js").Part[]}
 */
export function groupSentence(state, watched) {
  if (watched.group === null) return ["No group is declared yet. ", { soft: "Press play." }];
  return problem(state, watched) ?? duplicatesSoFar(state, watched) ?? crashes(state, watched);
}

/** The line under the headline: the duplicates so far, where a present problem is the headline. @returns {import("../../../render/sentence.js").Part[] | null} */
export function groupSecondSentence(state, watched) {
  if (watched.group === null || problem(state, watched) === null) return null;
  const figures = state.view.groups[watched.group].figures;
  return figures?.duplicates || isOpenAtEnd(state, figures) ? [...duplicateParts(state, figures), "."] : null;
}

/** Whether the scenario ends while messages of the group are still to be delivered again. */
const isOpenAtEnd = (state, figures) => Boolean(figures?.pending_repeats) && state.at_us === state.welcome?.until_us;

/** The duplicates: so far, or a lower bound where the scenario ends while messages are still to be delivered again. */
function duplicateParts(state, figures) {
  const count = figures.duplicates;
  if (!isOpenAtEnd(state, figures)) return [{ harm: counted(count, "duplicate") }, " so far"];
  return [count ? { harm: `at least ${counted(count, "duplicate")}` } : { strong: "no duplicates" }, ", ", { harm: "still delivering at the end" }];
}

function duplicatesSoFar(state, watched) {
  const group = state.view.groups[watched.group];
  if (!group.figures?.duplicates && !isOpenAtEnd(state, group.figures)) return null;
  const { again = 0, acknowledged = 0 } = group.repeats.leader ?? {};
  const next = again ? `${counted(again, "message")} would be redelivered, ${acknowledged === again ? "all" : acknowledged} of them acknowledged.` : "nothing would be redelivered.";
  return [{ strong: watched.group }, " has delivered ", ...duplicateParts(state, group.figures), ". ", { soft: `If its leader crashed now, ${next}` }];
}

/** What is wrong now: two readers, no leader, two leaders, a blocked leader, streams without a reader. */
function problem(state, watched) {
  const group = state.view.groups[watched.group];
  const leading = leaderOf(group);
  const tapes = tapesOf(state, watched.group);
  const doubled = tapes.find(isDoubled);
  if (doubled) return twoReaders(tapes, doubled);
  if (!leading) return withoutLeader(state, watched, group, tapes);
  if (Object.keys(group.leaders).length > 1) return twoLeaders(watched, group);
  const blocked_us = leading.leader.blocked_us ?? null;
  if (blocked_us !== null) return [`The leader of ${watched.group} at ${leading.leader.node} `, { harm: "is blocked" }, `: its commit has waited for the store for ${span(state.at_us - blocked_us)}. `, { soft: "Connected clients keep reading until a ping times out." }];
  const { unread, streams, over } = countsOf(tapes);
  if (unread > 0) return [...unreadWords(tapes, unread, streams - over), { soft: whyUnread(tapes.find(isUnread), unread > 1) }];
  return null;
}

function twoLeaders(watched, { leaders, claim }) {
  const older = Object.keys(leaders).filter((number) => Number(number) !== claim?.leader);
  const waits = older.some((number) => (leaders[number].blocked_us ?? null) !== null);
  return [{ strong: watched.group }, " has ", { harm: counted(Object.keys(leaders).length, "leader") }, ". ", { soft: `The claim is ${claim ? `held by leader ${claim.leader} at ${claim.node}` : "free"}; ${waits ? "the older leader is blocked, waiting for the store." : "the older leader ends at its next commit."}` }];
}

function twoReaders(tapes, doubled) {
  const more = tapes.filter(isDoubled).length - 1;
  const [one, other] = doubled.readers;
  const both = one.client === other.client ? `Two incarnations of ${one.client}` : `${one.client} and ${other.client}`;
  const finishing = doubled.readers.some((reader) => reader.lease === "absent");
  return [{ strong: both }, { harm: finishing ? " both hold messages of " : " both read " }, { strong: doubled.name }, more > 0 ? ` and ${counted(more, "other stream")}. ` : ". ", { soft: leaderTableWords(doubled) }];
}

function leaderTableWords({ leader_entry, readers }) {
  if (!leader_entry?.owner) return "In the leader's table it is unassigned.";
  const gone = readers.find((reader) => reader.id !== leader_entry.owner);
  return `In the leader's table it is assigned to ${readers.find((reader) => reader.id === leader_entry.owner)?.client ?? "a third client"}${gone ? `, not to ${gone.client}` : ""}.`;
}

function withoutLeader(state, watched, group, tapes) {
  const { claim } = group;
  if (claim) return [{ strong: watched.group }, " has ", { harm: "no leader" }, ". ", { soft: `The claim of the dead leader at ${claim.node} is valid for ${span(Math.max(0, claim.until_us - state.at_us))} more; ${tapes.some((tape) => fetching(tape).length) ? "connected clients keep reading" : "no client reads until then"}.` }];
  const asking = clientsOf(state, watched.group).some((client) => client.incarnations.length);
  if (asking) return [{ strong: watched.group }, " has ", { harm: "no leader" }, ". ", { soft: "One is elected when a borrower next looks for it." }];
  return tapes.length ? ["No client is in ", { strong: watched.group }, ` now; ${counted(tapes.length, "stream")} unread.`] : ["No client has subscribed to ", { strong: watched.group }, " yet. ", { soft: "Press play." }];
}

function unreadWords(tapes, unread, streams) {
  const one = tapes.find(isUnread);
  if (unread === 1 && streams > 1) return [{ harm: "No client reads " }, { strong: one.name }, ". "];
  return [{ harm: unread === streams ? "No stream is read" : `${unread} of ${counted(streams, "stream")} without a reader` }, ". "];
}

function whyUnread({ leader_entry }, several) {
  const it = several ? "them" : "it";
  if (!leader_entry) return `The leader has not found ${it} yet: it checks once a second.`;
  if (!leader_entry.owner) return `${several ? "They are" : "It is"} unassigned.`;
  if (leader_entry.starved) return `${clientOf(leader_entry.owner)} acted on a late revoke; in the leader's table ${several ? "they are" : "it is"} still granted.`;
  return { granting: "The grant is in flight.", granted: `In the leader's table ${several ? "they are" : "it is"} granted.`, revoking: "The leader is revoking it.", revoked: "It was revoked." }[leader_entry.state];
}

function crashes(state, watched) {
  const group = state.view.groups[watched.group];
  const leading = leaderOf(group);
  if (Object.keys(leading.leader.borrowers).length === 0) return ["No client is in ", { strong: watched.group }, " now. ", { soft: "Its leader has no borrowers." }];
  if (Object.keys(group.streams).length === 0) return [{ strong: watched.group }, " has no stream yet. ", { soft: "Press play." }];
  const { again, acknowledged } = group.repeats.leader ?? { again: 0, acknowledged: 0 };
  const worst = Object.entries(group.repeats.sessions).reduce((/** @type {any} */ most, [client, figures]) => (figures.again > (most?.again ?? 0) ? { client, ...figures } : most), null);
  const of_them = again > 0 ? { soft: `${acknowledged === again ? "All of them are" : `${acknowledged} of them are`} acknowledged but not committed.` } : { soft: "All progress is committed." };
  return [
    `If the leader of ${watched.group} crashed now, `,
    again ? { harm: `${counted(again, "message")} would be redelivered` } : { strong: "nothing would be redelivered" },
    worst ? "; if " : ". ",
    ...(worst ? [{ strong: worst.client }, " was killed, ", { harm: String(worst.again) }, ". "] : []),
    of_them,
  ];
}

/** The text view of a group lab: leader, clients and streams as lists of plain sentences. */

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
