/** Arranges the vertical lines of the diagram of messages: half of the sessions, the leaders, the other half. */

import { clientsOf } from "../model/groups.js";
import { leaderLine, sessionLine } from "../model/node_messages.js";

/** Width of one line, px; smaller on a narrow page. */
const LINE_PX = 104;
const NARROW_LINE_PX = 88;
const NARROW_PX = 560;

/** @returns {string[]} sessions of the group */
export const sessionsOf = (state, group) => clientsOf(state, group).map(({ name }) => name);

/**
 * @param {import("../../../model/state.js").LabState} state
 * @param {string} group
 * @param {{messages: any[], borrowers: any[], leaders: any[]}} folded messages, borrowers and leaders of the window
 * @param {{start_us: number, span_us: number}} window
 * @param {{width: number, axis_px: number, scale: number, first_session: number}} room
 * @returns {{lines: {name: string, title: string, note: string}[], first: number, shown: number, count: number, fit: number}}
 *   `count` sessions exist, `shown` of them have a line, from index `first`; `fit` is the number for which there is room
 */
export function columnsOf(state, group, folded, window, { width, axis_px, scale, first_session }) {
  const named = [...folded.messages, ...folded.borrowers].map(({ client }) => client);
  const names = [...new Set([...sessionsOf(state, group), ...named])].sort();
  const nodes = leaderNodes(state.view.groups[group].claim, folded, window);
  const fit = Math.max(1, Math.floor((width - axis_px) / ((width < NARROW_PX ? NARROW_LINE_PX : LINE_PX) * scale)) - nodes.length);
  const first = Math.max(0, Math.min(first_session, names.length - fit));
  const sessions = names.slice(first, first + fit);
  const half = Math.ceil(sessions.length / 2);
  const line = (name) => ({ name: sessionLine(name), title: name, note: state.view.sessions[name]?.state === "online" ? state.view.sessions[name].node : "offline" });
  const leaders = nodes.map((node) => ({ name: leaderLine(node), title: "leader", note: `at ${node}` }));
  return { lines: [...sessions.slice(0, half).map(line), ...leaders, ...sessions.slice(half).map(line)], first, shown: sessions.length, count: names.length, fit };
}

/** Nodes with a leader or a leader's message in the window; without any, the node that has the claim. */
function leaderNodes(claim, { leaders, messages }, window) {
  const end_us = window.start_us + window.span_us;
  const here = leaders.filter(({ from, until }) => from.at_us <= end_us && (until === null || until.at_us >= window.start_us)).map(({ node }) => node);
  const with_messages = messages.flatMap(({ from, to, sent }) => (sent.at_us >= window.start_us && sent.at_us <= end_us ? [from, to] : [])).filter((name) => name.startsWith("leader ")).map((name) => name.slice(7));
  const nodes = [...new Set([...here, ...with_messages])].sort();
  return nodes.length ? nodes : claim ? [claim.node] : [];
}
