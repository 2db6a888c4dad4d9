/** The sentence of a group lab: what is wrong now, else what a crash now would repeat. Figures are the engine's. */

import { clientOf, clientsOf, countsOf, fetching, isDoubled, isUnread, leaderOf, tapesOf } from "./groups.js";
import { counted, span } from "../../../model/format.js";

/**
 * @param {import("../../../model/state.js").LabState} state
 * @param {{group: string | null}} watched
 * @returns {import("../../../model/sentence.js").Part[]}
 */
export function groupSentence(state, watched) {
  if (watched.group === null) return ["No group is declared yet. ", { soft: "Press play." }];
  const group = state.view.groups[watched.group];
  const leading = leaderOf(group);
  const tapes = tapesOf(state, watched.group);
  const doubled = tapes.find(isDoubled);
  if (doubled) return twoReaders(tapes, doubled);
  if (!leading) return withoutLeader(state, watched, group, tapes);
  if (Object.keys(group.leaders).length > 1) return twoLeaders(watched, group);
  const blocked_us = leading.leader.blocked_us ?? null;
  if (blocked_us !== null) return [`The leader of ${watched.group} at ${leading.leader.node} `, { harm: "handles nothing" }, `: its commit has waited for the store for ${span(state.at_us - blocked_us)}. `, { soft: "Connected clients read on until a ping is not answered." }];
  const { unread, streams, over } = countsOf(tapes);
  if (unread > 0) return [...nobodyReads(tapes, unread, streams - over), { soft: whyUnread(tapes.find(isUnread), unread > 1) }];
  return crashes(state, watched, group, leading);
}

function twoLeaders(watched, { leaders, claim }) {
  const older = Object.keys(leaders).filter((number) => Number(number) !== claim?.leader);
  const waits = older.some((number) => (leaders[number].blocked_us ?? null) !== null);
  return [{ strong: watched.group }, " has ", { harm: counted(Object.keys(leaders).length, "leader") }, ". ", { soft: `The claim is ${claim ? `held by leader ${claim.leader} at ${claim.node}` : "free"}; ${waits ? "the older one waits for the store and handles nothing." : "the older one ends at its next commit."}` }];
}

function twoReaders(tapes, doubled) {
  const more = tapes.filter(isDoubled).length - 1;
  const [one, other] = doubled.readers;
  const both = one.client === other.client ? `Two incarnations of ${one.client}` : `${one.client} and ${other.client}`;
  const finishing = doubled.readers.some((reader) => reader.lease === "absent");
  return [{ strong: both }, { harm: finishing ? " both hold messages of " : " both read " }, { strong: doubled.name }, more > 0 ? `, and so with ${counted(more, "other stream")}. ` : ". ", { soft: believes(doubled) }];
}

function believes({ believed, readers }) {
  if (!believed?.owner) return "The leader takes it for nobody's.";
  const gone = readers.find((reader) => reader.id !== believed.owner);
  return `The leader believes in ${readers.find((reader) => reader.id === believed.owner)?.client ?? "a third"}${gone ? ` and knows nothing of ${gone.client}` : ""}.`;
}

function withoutLeader(state, watched, group, tapes) {
  const { claim } = group;
  if (claim) return [{ strong: watched.group }, " has ", { harm: "no leader" }, ". ", { soft: `The dead one at ${claim.node} is believed for ${span(Math.max(0, claim.until_us - state.at_us))} more; ${tapes.some((tape) => fetching(tape).length) ? "who reads reads on" : "nobody reads meanwhile"}.` }];
  const asking = clientsOf(state, watched.group).some((client) => client.incarnations.length);
  if (asking) return [{ strong: watched.group }, " has ", { harm: "no leader" }, ". ", { soft: "Whoever asks next makes one." }];
  return tapes.length ? [`Nobody shares in `, { strong: watched.group }, ` now; ${counted(tapes.length, "stream")} wait.`] : ["Nobody has subscribed to ", { strong: watched.group }, " yet. ", { soft: "Press play." }];
}

function nobodyReads(tapes, unread, streams) {
  const one = tapes.find(isUnread);
  if (unread === 1 && streams > 1) return [{ harm: "Nobody reads " }, { strong: one.name }, ". "];
  return [{ harm: unread === streams ? "Nobody reads any stream" : `Nobody reads ${unread} of ${counted(streams, "stream")}` }, ". "];
}

function whyUnread({ believed }, several) {
  const it = several ? "them" : "it";
  if (!believed) return `The leader has not found ${it} yet: it looks once a second.`;
  if (!believed.owner) return `The leader has nobody for ${it}.`;
  if (believed.starved) return `${clientOf(believed.owner)} obeyed a late revoke; the leader has ${it} as granted and asks for nothing.`;
  return { granting: "The grant is on its way.", granted: `The leader believes that ${several ? "they are" : "it is"} read.`, revoking: "It is being taken back.", revoked: "It was given back." }[believed.state];
}

function crashes(state, watched, group, leading) {
  if (Object.keys(leading.leader.borrowers).length === 0) return ["Nobody shares in ", { strong: watched.group }, " now. ", { soft: "Its leader waits." }];
  if (Object.keys(group.streams).length === 0) return [{ strong: watched.group }, " has no stream yet. ", { soft: "Press play." }];
  const { again, acknowledged } = group.repeats.leader ?? { again: 0, acknowledged: 0 };
  const worst = Object.entries(group.repeats.sessions).reduce((/** @type {any} */ most, [client, figures]) => (figures.again > (most?.again ?? 0) ? { client, ...figures } : most), null);
  const of_them = again > 0 ? { soft: `${acknowledged === again ? "All of them are" : `${acknowledged} of them are`} acknowledged, and not committed.` } : { soft: "All is committed." };
  return [
    `If the leader of ${watched.group} crashed now, `,
    again ? { harm: `${counted(again, "message")} would come again` } : { strong: "nothing would come again" },
    worst ? "; if " : ". ",
    ...(worst ? [{ strong: worst.client }, " was killed, ", { harm: String(worst.again) }, ". "] : []),
    of_them,
  ];
}
