/** What commands about durable shared subscriptions will do, in words and before they are given; what comes again is the engine's own figure. */

import { counted } from "../../../model/format.js";

/** @typedef {{again: number, acknowledged: number} | null | undefined} Repeats */

/** @param {Repeats} figures */
const comesAgain = (figures) => (figures ? `At this instant: ${counted(figures.again, "message")} would come again, ${figures.acknowledged} of them acknowledged.` : "");

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

/** Who dies with a node. */
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
      ? [`${session ?? "The client"} connects and begins anew: what its session had in flight is dropped; in a group somebody gets it again from where the leader has it.`]
      : [`${session ?? "The client"} connects; what its session had in flight comes again, and its streams must be granted anew.`],
  "session.disconnect": ({ session }) => [`${session ?? "The session"} tells its leaders how far it was; its streams are free at once, from the beginning of what is not wholly acknowledged.`],
  "session.kill": ({ session }, state) => [`${session ?? "The session"} says nothing to anybody: its leader waits until the last ping is five seconds old, and nobody reads its streams meanwhile.`, ofSession(session, state)],
  "session.subscribe": ({ topic }) => [`A new borrower looks for the leader of ${topic ?? "the group"}, or reads the filter's streams by itself.`],
  "session.unsubscribe": () => ["Its borrower waits at most a second for what is unacknowledged, then gives all streams back."],
  "session.pause-acks": ({ session }) => [`${session ?? "The client"} acknowledges nothing: chunks stay in flight, and a stream that is revoked from it waits without a limit.`],
  "session.resume-acks": ({ session }) => [`${session ?? "The client"} goes on with what it has.`],
  "leader.crash": ({ group }, state) => [`What ${group ?? "the group"}'s leader has not committed is forgotten; its claim is believed until it is thirty seconds old.`, comesAgain(state?.view?.groups?.[group]?.repeats.leader)],
  "leader.stop": ({ group }) => [`${group ?? "The group"}'s leader commits and gives its claim back; its borrowers notice when a ping is not answered.`],
  "group.declare": ({ group }) => [`What matches ${group ?? "the group"}'s filter is kept from now on.`],
  "group.destroy": ({ group }) => [`${group ?? "The group"} is gone with its progress; its borrowers look for a leader in vain.`],
  "node.crash": ({ node }, state) => [`Every session and leader at ${node ?? "the node"} dies; nothing of theirs is committed.`, ...withNode(node, state)],
  "node.stop": ({ node, evacuate }, state) => [
    evacuate ? `${node ?? "The node"}'s clients are disconnected in order first: leaders receive their progress.` : `${node ?? "The node"}'s connections close without a message to leaders elsewhere, which drop their borrowers five seconds after the last ping.`,
    "Its leaders commit and give their claims back.",
    ...withNode(node, state).map((words) => words.replace(/ At this instant:.*/, "")),
  ],
  "node.restart": ({ node }) => [`${node ?? "The node"} comes back empty; clients connect again.`],
  "storage.close-generation": () => ["The streams of all shards end where they are; what is published from now on opens new ones."],
  "storage.add-shards": () => ["Clients are dealt over more shards; the streams that are there stay."],
  "store.fail": ({ node }) =>
    node
      ? [`Leaders at ${node} handle nothing from their next commit on, until the store answers or 60 s have passed. Once their claim is 30 s old, a borrower of another node makes a second leader.`]
      : ["No leader can be elected and none can commit meanwhile."],
  "config.update": ({ setting, value }) => [`${setting ?? "The timer"} becomes ${value ?? "another value"} on all nodes; a timer that runs keeps its span until it starts again.`],
  "protocol.lose": (order) => [`${chosen(order)} reaches nobody.`],
  "protocol.delay": (order) => [`${chosen(order)} comes late.`],
  "protocol.duplicate": (order) => [`${chosen(order)} comes twice.`],
  "link.cut": ({ link }) => [`Nothing crosses ${link ?? "the link"} any more; what is on the wire is lost.`],
  "link.heal": ({ link }) => [`${link ?? "The link"} works again.`],
  "link.slow": ({ link, latency }) => [`Everything on ${link ?? "the link"} takes ${latency ?? "longer"}; order is kept.`],
  "publisher.publish": ({ publisher }) => [`${publisher ?? "The publisher"} publishes at once.`],
  "publisher.pause": ({ publisher }) => [`${publisher ?? "The publisher"} publishes nothing for now.`],
  "publisher.resume": ({ publisher }) => [`${publisher ?? "The publisher"} goes on.`],
};
