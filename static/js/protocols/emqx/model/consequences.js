/** What commands about durable shared subscriptions will do, before they are given; the number of redeliveries is the engine's. */

import { counted } from "../../../model/format.js";

/** @typedef {{again: number, acknowledged: number} | null | undefined} Repeats */

/** @param {Repeats} figures */
const comesAgain = (figures) => (figures ? `At this instant: ${counted(figures.again, "message")} would be redelivered, ${figures.acknowledged} of them acked.` : "");

/** Which message a command about messages between borrowers and leaders is about. */
function chosen({ type, session, stream, skip }) {
  const of = [session ? ` to or from ${session}` : "", stream ? ` about ${stream}` : "", Number(skip) ? `, after ${counted(Number(skip), "other")},` : ""].join("");
  return `The next ${type ?? "message of this kind"}${of}`;
}

/** Of one session, over all groups. */
function ofSession(session, state) {
  const figures = Object.values(state?.view?.groups ?? {}).map(({ repeats }) => repeats.sessions[session]).filter(Boolean);
  return comesAgain(figures.length ? figures.reduce((sum, one) => ({ again: sum.again + one.again, acknowledged: sum.acknowledged + one.acknowledged })) : null);
}

/** Sessions and leaders at a node. */
function withNode(node, state) {
  const sessions = Object.values(state?.view?.sessions ?? {}).filter((one) => one.node === node && one.state === "online").length;
  const led = Object.entries(state?.view?.groups ?? {}).filter(([, group]) => Object.values(group.leaders).some((leader) => leader.node === node));
  const leaders = led.map(([name, { repeats }]) => `the leader of ${name} is there. ${comesAgain(repeats.leader)}`);
  return state ? [`${counted(sessions, "session")} ${sessions === 1 ? "is" : "are"} there${leaders.length ? `; ${leaders.join(" ")}` : ", no leader."}`] : [];
}

/** @type {Object<string, (command: object, state?: import("../../../model/state.js").LabState) => string[]>} */
export const GROUP_WORDS = {
  "session.connect": ({ session, node, clean }, state) =>
    state?.view?.sessions?.[session]?.state === "online"
      ? [`${session} takes its session over${node ? ` at ${node}` : ""}: the old connection closes and no leader receives a message. What was in flight is delivered again, and each leader keeps the old borrower until its last ping is five seconds old.`]
      : clean
      ? [`${session ?? "The client"} connects with a clean start: what its session had in flight is dropped. In a group another member gets it again from the leader's last progress.`]
      : [`${session ?? "The client"} connects. What its session had in flight is redelivered, and its streams must be granted again.`],
  "session.disconnect": ({ session }) => [`${session ?? "The session"} reports its progress to its leaders. Its streams are unassigned at once, from the first message that is not acked.`],
  "session.kill": ({ session }, state) => [`${session ?? "The session"} sends nothing: its leader waits until the last ping is five seconds old, and its streams are not read until then.`, ofSession(session, state)],
  "session.subscribe": ({ topic }) => [`A new borrower looks for the leader of ${topic ?? "the group"}, or the session reads the filter's streams itself.`],
  "session.unsubscribe": () => ["Its borrower waits at most one second for unacked messages, then returns all streams."],
  "session.pause-acks": ({ session }) => [`${session ?? "The client"} acks nothing: chunks stay in flight, and a stream that is revoked from it waits without limit.`],
  "session.resume-acks": ({ session }) => [`${session ?? "The client"} acks again, beginning with what is in flight.`],
  "leader.crash": ({ group }, state) => [`What ${group ?? "the group"}'s leader has not committed is lost. Its claim stays valid until it is thirty seconds old.`, comesAgain(state?.view?.groups?.[group]?.repeats.leader)],
  "leader.stop": ({ group }) => [`${group ?? "The group"}'s leader commits and releases its claim. Its borrowers notice when a ping is not answered.`],
  "group.declare": ({ group }) => [`What matches ${group ?? "the group"}'s filter is stored from now on.`],
  "group.destroy": ({ group }) => [`${group ?? "The group"} is deleted with its progress. Its borrowers find no leader.`],
  "node.crash": ({ node }, state) => [`Every session and leader at ${node ?? "the node"} is killed. Nothing is committed.`, ...withNode(node, state)],
  "node.stop": ({ node, evacuate }, state) => [
    evacuate ? `${node ?? "The node"}'s clients are disconnected gracefully first: leaders receive their progress.` : `${node ?? "The node"}'s connections close without a message to leaders elsewhere, which drop their borrowers five seconds after the last ping.`,
    "Its leaders commit and release their claims.",
    ...withNode(node, state).map((words) => words.replace(/ At this instant:.*/, "")),
  ],
  "node.restart": ({ node }) => [`${node ?? "The node"} restarts without sessions in memory. Clients reconnect.`],
  "storage.close-generation": () => ["The streams of all shards end here. What is published from now on opens new streams."],
  "storage.add-shards": () => ["Clients are spread over more shards. Existing streams stay."],
  "store.fail": ({ node }) =>
    node
      ? [`Leaders at ${node} handle nothing from their next commit on, until the store answers or 60 s have passed. Once their claim is 30 s old, a borrower at another node elects a second leader.`]
      : ["Meanwhile no leader can be elected or commit."],
  "config.update": ({ setting, value }) => [`${setting ?? "The timer"} becomes ${value ?? "another value"} on all nodes. A running timer keeps its interval until it is started again.`],
  "protocol.lose": (order) => [`${chosen(order)} is lost.`],
  "protocol.delay": (order) => [`${chosen(order)} arrives late.`],
  "protocol.duplicate": (order) => [`${chosen(order)} arrives twice.`],
  "link.cut": ({ link }) => [`Nothing crosses ${link ?? "the link"} any more. What is in flight is lost.`],
  "link.heal": ({ link }) => [`${link ?? "The link"} works again.`],
  "link.slow": ({ link, latency }) => [`Everything on ${link ?? "the link"} takes ${latency ?? "longer"}; order is kept.`],
  "publisher.publish": ({ publisher }) => [`${publisher ?? "The publisher"} publishes at once.`],
  "publisher.pause": ({ publisher }) => [`${publisher ?? "The publisher"} publishes nothing until it is resumed.`],
  "publisher.resume": ({ publisher }) => [`${publisher ?? "The publisher"} publishes at its rate again.`],
};
