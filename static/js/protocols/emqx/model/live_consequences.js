/** Consequences of commands that depend on the present state: clients at a node, messages to redeliver. The figures are the engine's. */

import { counted } from "../../../model/format.js";

/** @typedef {{again: number, acknowledged: number} | null | undefined} Repeats */

/** @param {Repeats} figures */
const redelivered = (figures) => (figures ? `At this instant: ${counted(figures.again, "message")} would be redelivered, ${figures.acknowledged} of them acked.` : "");

/** Figures of one session, summed over all groups. */
function ofSession(session, state) {
  const figures = Object.values(state.view.groups ?? {}).map(({ repeats }) => repeats.sessions[session]).filter(Boolean);
  return redelivered(figures.length ? figures.reduce((sum, one) => ({ again: sum.again + one.again, acknowledged: sum.acknowledged + one.acknowledged })) : null);
}

/** Sessions and leaders at a node. */
function withNode(node, state) {
  const sessions = Object.values(state.view.sessions ?? {}).filter((one) => one.node === node && one.state === "online").length;
  const led = Object.entries(state.view.groups ?? {}).filter(([, group]) => Object.values(group.leaders).some((leader) => leader.node === node));
  const leaders = led.map(([name, { repeats }]) => `the leader of ${name} is there. ${redelivered(repeats.leader)}`);
  return [`${counted(sessions, "session")} ${sessions === 1 ? "is" : "are"} there${leaders.length ? `; ${leaders.join(" ")}` : ", no leader."}`];
}

/** @type {Object<string, (declared: string, command: object, state: import("../../../model/state.js").LabState) => string[]>} */
export const LIVE_CONSEQUENCES = {
  "session.connect": (declared, { session, node }, state) =>
    state.view.sessions?.[session]?.state === "online"
      ? [`${session} takes over its session${node ? ` at ${node}` : ""}: the old connection closes and no leader receives a message. What was in flight is delivered again, and each leader keeps the old borrower until its last ping is five seconds old.`]
      : [declared],
  "session.kill": (declared, { session }, state) => [declared, ofSession(session, state)],
  "leader.crash": (declared, { group }, state) => [declared, redelivered(state.view.groups?.[group]?.repeats.leader)],
  "node.crash": (declared, { node }, state) => [declared, ...withNode(node, state)],
  "node.stop": (declared, { node }, state) => [declared, ...withNode(node, state).map((words) => words.replace(/ At this instant:.*/, ""))],
};
