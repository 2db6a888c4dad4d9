/** The legend of a group's picture. Items are drawn with the same functions as the picture where it has one. */

import { freeCell, glyph, pin } from "../../../render/glyphs.js";

/** @typedef {import("../../../render/legend.js").LegendItem} LegendItem */

const TURN = 2 * Math.PI;
const TOP = -TURN / 4;
const MIDDLE = 9;

const bars = (ink, rows) => (context, { theme }) => {
  context.fillStyle = ink(theme);
  for (const [x, y, width, height] of rows) context.fillRect(x, y, width, height);
};
const own = (theme) => theme.origin[0];
const done = (theme) => theme.done[0];
const named = (name) => (theme) => theme.ink[name];

const pinOf = (colour, open) => (context, { theme }) => pin(context, 5.5, 5, 0, -1, 8, theme.ink[colour], theme.ink.bg, open);

function ring(context, x, radius, to, colour, width, dash = []) {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.setLineDash(dash);
  context.beginPath();
  context.arc(x, MIDDLE, radius, TOP, TOP + to * TURN);
  context.stroke();
  context.setLineDash([]);
}

function wedge(context, { theme }) {
  context.fillStyle = theme.ink.harmWash;
  context.beginPath();
  context.moveTo(MIDDLE, MIDDLE);
  context.arc(MIDDLE, MIDDLE, 8, TOP + 0.45 * TURN, TOP + 0.8 * TURN);
  context.fill();
}

const box = (colour, width, dash) => (context, { theme }) => {
  context.strokeStyle = theme.ink[colour];
  context.lineWidth = width;
  context.setLineDash(dash);
  context.beginPath();
  context.roundRect(1.5, 3, 17, 12, 3);
  context.stroke();
  context.setLineDash([]);
};

const line = (ink, width, dash) => (context, { theme }) => {
  context.strokeStyle = ink(theme);
  context.lineWidth = width;
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(0, MIDDLE);
  context.lineTo(18, MIDDLE);
  context.stroke();
  context.setLineDash([]);
};

const shape = (kind) => (context, { theme }) => glyph(context, kind, 6.5, MIDDLE, 4.2, theme.ink.proto, theme.ink.bg);

/** @type {LegendItem[]} */
const STREAMS = [
  { words: "not acked yet", term: "not acked yet", marks: ["not-acked"], says: "Messages in full colour are not acknowledged by the client that has them.", group: "Streams", width: 16, first: true, draw: bars(own, [[0, 5, 16, 8]]) },
  { words: "acked", term: "acked", marks: ["acked"], says: "Faded messages are acknowledged: in the upper strip as the leader knows it, below as the reader does.", group: "Streams", width: 16, first: true, draw: bars(done, [[0, 5, 16, 8]]) },
  { words: "delivered, not acked", term: "delivered, not acked", marks: ["delivered-not-acked"], says: "Taller messages are delivered to the reader and not acknowledged.", group: "Streams", width: 16, first: true, draw: bars(own, [[0, 4, 16, 12]]) },
  { words: "duplicates", term: "duplicates", marks: ["duplicates-actual"], says: "A full crimson bar: these messages were delivered again after a client had acknowledged them.", group: "Streams", width: 16, first: true, draw: bars(named("harm"), [[0, 3, 16, 3], [0, 8, 16, 0]]) },
  { words: "unassigned stream", term: "unassigned", marks: ["unassigned"], says: "A dashed outline: no client is assigned to the stream, or none reads it.", group: "Streams", width: 18, draw: (context, { theme }) => ((context.strokeStyle = theme.ink.strong), context.setLineDash([2, 3]), context.strokeRect(1, 4, 16, 10), context.setLineDash([])) },
  { words: "two readers", term: "two readers", marks: ["two-readers"], says: "A crimson double line at the end of a stream: two clients read it, and both get new messages.", group: "Streams", width: 10, draw: bars(named("harm"), [[2, 2, 2, 14], [6, 2, 2, 14]]) },
  { words: "no reader", term: "without a reader", marks: ["no-reader"], says: "A crimson edge of a cell: no client reads this stream.", group: "Streams", width: 10, draw: bars(named("harm"), [[1, 13, 8, 2]]) },
  { words: "assigned client, reading client", term: "lease", marks: ["client-of-stream"], says: "At the left the client that the leader assigned, at the right the client that reads. Colour and shape are those of its card.", group: "Streams", width: 14, draw: (context, { theme }) => freeCell(context, 0, 7, MIDDLE, 8, 11, theme.origin[0], theme.ink.bg) },
  { words: "stream in a strip", term: "stream", marks: ["strip-cell"], says: "With many streams, each is one cell: upper half the assigned client, lower half the reading client.", group: "Streams", width: 12, draw: (context, { theme }) => (bars(own, [[1, 2, 9, 6.5]])(context, { theme }), bars(done, [[1, 9.5, 9, 6.5]])(context, { theme })) },
  { words: "chosen stream", term: "stream", marks: ["chosen"], says: "A heavy outline is the stream that was chosen.", group: "Streams", width: 18, draw: (context, { theme }) => ((context.strokeStyle = theme.ink.ink), (context.lineWidth = 1.4), context.strokeRect(1, 3, 16, 12)) },
];

/** @type {LegendItem[]} */
const CURSORS = [
  { words: "committed", term: "committed", marks: ["committed"], says: "What the leader has written to its store. After a crash of the leader, reading continues here.", group: "Cursors", width: 11, first: true, draw: pinOf("ink", false) },
  { words: "reported", term: "reported", marks: ["reported"], says: "What the reader has reported to its leader. After the reader is killed, the next one continues here.", group: "Cursors", width: 11, first: true, draw: pinOf("proto", false) },
  { words: "acknowledged", term: "acknowledged", marks: ["acknowledged"], says: "Up to here the reader has acknowledged.", group: "Cursors", width: 5, draw: bars(named("ink"), [[2, 4, 1.6, 10]]) },
  { words: "delivered", term: "delivered", marks: ["delivered"], says: "Up to here messages are delivered to the reader.", group: "Cursors", width: 11, draw: pinOf("ink", true) },
  { words: "redelivered if the leader crashes", term: "redelivered if the leader crashes", marks: ["redelivered-leader"], says: "A crimson double line: from the committed to the delivered position.", group: "Cursors", width: 18, first: true, draw: bars(named("harm"), [[0, 7, 18, 1.5], [0, 10.6, 18, 1.5]]) },
  { words: "redelivered if its client is killed", term: "redelivered if its client is killed", marks: ["redelivered-client"], says: "A single crimson line: from the reported position on.", group: "Cursors", width: 18, draw: bars(named("harm"), [[0, 8, 18, 1.8]]) },
];

/** @type {LegendItem[]} */
const CLIENTS = [
  { words: "client keeps reading for", term: "keeps reading for", marks: ["ring-client"], says: "The outer ring of a client: how long it keeps reading without a message from its leader.", group: "Leases", width: 18, draw: (context, { theme }) => ring(context, MIDDLE, 7.4, 0.8, theme.origin[0], 2) },
  { words: "leader drops it in", term: "leader drops it in", marks: ["ring-leader"], says: "The inner ring of a client: how long the leader keeps the client without a message from it. Dashed: only the leader still has it.", group: "Leases", width: 18, draw: (context, { theme }) => ring(context, MIDDLE, 5, 0.6, theme.ink.proto, 1.8) },
  { words: "two readers possible", term: "two readers", marks: ["ring-gap"], says: "The shaded part between the ends of the rings: the leader may have given its streams to another client while this one still reads.", group: "Leases", width: 18, draw: (context, given) => (wedge(context, given), ring(context, MIDDLE, 7.4, 0.8, given.theme.origin[0], 2), ring(context, MIDDLE, 5, 0.45, given.theme.ink.proto, 1.8)) },
  { words: "whole lease", term: "lease", marks: ["ring-whole"], says: "The thin circle is a whole lease; it is dashed while the client is offline.", group: "Leases", width: 18, draw: (context, { theme }) => ring(context, MIDDLE, 7.4, 1, theme.ink.strong, 1, [2, 3]) },
  { words: "next commit", term: "next commit", marks: ["timer-commit"], says: "The right ring of the leader: time until it commits the reported progress.", group: "Leases", width: 18, draw: (context, { theme }) => (ring(context, MIDDLE, 7, 1, theme.ink.line, 1), ring(context, MIDDLE, 7, 0.6, theme.ink.proto, 3)) },
  { words: "next rebalance", term: "next rebalance", marks: ["timer-rebalance"], says: "The left ring of the leader: time until it assigns streams again, with a hand for each armed timer.", group: "Leases", width: 18, draw: (context, { theme }) => (ring(context, MIDDLE, 7, 1, theme.ink.line, 1), ring(context, MIDDLE, 7, 0.6, theme.ink.soft, 3)) },
];

/** @type {LegendItem[]} */
const NODES = [
  { words: "node", term: "leader", marks: ["node"], says: "A frame is a node with the clients that are connected to it; dashed crimson while it is down.", group: "Nodes and messages", width: 20, draw: box("strong", 2, []) },
  { words: "leader", term: "leader", marks: ["leader"], says: "The leader of the group; dashed when there is none.", group: "Nodes and messages", width: 20, draw: box("proto", 2, []) },
  { words: "client", term: "session", marks: ["client"], says: "A client's card with its leases and its state; dashed while it is offline.", group: "Nodes and messages", width: 20, draw: box("line", 1.4, []) },
  { words: "stable group", term: "stable", marks: ["stable"], says: "The badge of the leader: no stream moves until a client joins, leaves or fails.", group: "Nodes and messages", width: 20, draw: box("proto", 1.4, []) },
  { words: "client in the leader's table", term: "borrower", marks: ["borrower"], says: "A line between client and leader; dashed where only one of the two has the other in its state.", group: "Nodes and messages", width: 18, draw: line(own, 1.6, []) },
  { words: "link", term: "protocol message", marks: ["link"], says: "The connection of two nodes: heavier when it is slowed, dashed crimson with a cross when it is cut.", group: "Nodes and messages", width: 18, draw: line(named("strong"), 1.6, []) },
  ...Object.entries({
    request: ["snapshot_request", "A request in flight: ping, or a client that looks for its leader."],
    response: ["snapshot_response", "A response in flight."],
    grant: ["snapshot", "A grant in flight: the leader assigns a stream."],
    progress: ["pin", "Progress in flight: a client reports what it has acknowledged."],
    revoke: ["subscription_update", "A revocation in flight, or its confirmation."],
    end: ["cross", "The end of a membership in flight: disconnect or invalidate."],
  }).map(([words, [kind, says]]) => ({ words: `${words} in flight`, term: "protocol message", marks: [`flight-${kind}`], says, group: "Nodes and messages", width: 13, draw: shape(kind) })),
  { words: "other message in flight", term: "protocol message", marks: ["flight-dot"], says: "Any other message between a client and its leader.", group: "Nodes and messages", width: 13, draw: shape("dot") },
];

/** @type {LegendItem[]} */
const TIME = [
  { words: "leader over time", term: "leader", marks: ["time-leader"], says: "In the time diagram: a bar is a leader of the group, with its node.", group: "Time", width: 18, draw: bars(named("proto"), [[0, 7, 18, 3]]) },
  { words: "no leader", term: "leader", marks: ["time-no-leader"], says: "In the time diagram: a dotted crimson line while the group has no leader.", group: "Time", width: 18, draw: line(named("harm"), 1.2, [2, 4]) },
  { words: "fault", term: "leader", marks: ["time-fault"], says: "In the time diagram: a dotted crimson line is a fault.", group: "Time", width: 10, draw: bars(named("harm"), [[5, 1, 1.4, 3], [5, 6, 1.4, 3], [5, 11, 1.4, 3]]) },
  { words: "now", term: "instant", marks: ["time-now"], says: "The vertical line through diagram and curve is the instant shown.", group: "Time", width: 10, draw: bars(named("ink"), [[5, 1, 1.3, 16]]) },
  { words: "not run yet", term: "instant", marks: ["time-future"], says: "Hatched: the run has not reached this time yet.", group: "Time", width: 20, draw: bars(named("line"), [[0, 1, 1, 16], [6, 1, 1, 16], [12, 1, 1, 16]]) },
  { words: "duplicates if the leader crashed now", term: "duplicates", marks: ["time-curve"], says: "The curve under the time diagram: how many duplicates a crash of the leader at each instant would have caused.", group: "Time", width: 18, draw: line(named("harm"), 1.8, []) },
  { words: "duplicates over time", term: "duplicates", marks: ["time-duplicates"], says: "In the time diagram: when duplicates were delivered, with their number and causes; a higher bar is more of them.", group: "Time", width: 14, draw: bars(named("harm"), [[2, 5, 2, 10], [7, 8, 2, 7]]) },
];

/** @type {LegendItem[]} */
export const LEGEND = [...STREAMS, ...CURSORS, ...CLIENTS, ...NODES, ...TIME];
