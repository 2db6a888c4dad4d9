/** The legend of the lanes and of the time diagram. Items are drawn with the same functions as the picture, so that both agree. */

import { freeCell, glyph, pin } from "../../../render/glyphs.js";

/** The part of the legend for the time diagram. */

/** Middle of an item's box, px. */
const MIDDLE = 9;

const line = (colour, width, dash, points) => (context, { theme }) => {
  context.strokeStyle = theme.ink[colour];
  context.lineWidth = width;
  context.setLineDash(dash);
  context.beginPath();
  points.forEach(([x, y], at) => (at === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
  context.stroke();
  context.setLineDash([]);
};

function future(context, { theme }) {
  for (let x = 0; x < 20; x += 6) line("line", 1, [], [[x - 4, 17], [x + 10, 1]])(context, { theme });
}

function bars(context, { theme }) {
  [6, 12, 9].forEach((height, at) => {
    context.fillStyle = at === 1 ? theme.ink.proto : theme.ink.soft;
    context.fillRect(1 + at * 5, 16 - height, 4, height);
  });
}

const GROUP = "Time diagram";

/** @type {import("../../../render/legend.js").LegendItem[]} */
export const TIME_LEGEND = [
  { words: "region over time", term: "region, cluster", marks: ["time-region"], says: "A line for each region up to the instant shown; heavier for the region with the consumers, dashed crimson while it is down.", group: GROUP, width: 18, draw: line("strong", 1.4, [], [[0, MIDDLE], [18, MIDDLE]]) },
  { words: "marker between regions", term: "marker", marks: ["time-marker"], says: "A slanted arrow: a marker from the region that wrote it to one that stored it. Second rounds are heavier.", group: GROUP, width: 18, needs: "snapshots", draw: (context, { theme }) => (line("proto", 1.3, [], [[3, 3], [15, 15]])(context, { theme }), glyph(context, "snapshot_request", 4, 4, 3, theme.ink.proto, theme.ink.bg)) },
  { words: "delayed marker", term: "marker", marks: ["time-marker-delayed"], says: "A dashed arrow: a fault delays this marker.", group: GROUP, width: 18, needs: "snapshots", draw: line("proto", 1.3, [5, 3], [[1, 2], [17, 16]]) },
  { words: "lost marker", term: "marker", marks: ["time-marker-lost"], says: "An arrow that ends in a cross: the marker was lost on the link.", group: GROUP, width: 18, needs: "snapshots", draw: (context, { theme }) => (line("proto", 1.3, [], [[1, 2], [10, 10]])(context, { theme }), glyph(context, "cross", 12, 11, 3, theme.ink.harm, theme.ink.bg)) },
  { words: "other regions' markers over time", term: "marker", marks: ["time-marker-other"], says: "A faint arrow belongs to a snapshot of another region.", group: GROUP, width: 18, needs: "snapshots", draw: (context, { theme }) => ((context.globalAlpha = 0.5), line("strong", 1.3, [], [[2, 3], [16, 15]])(context, { theme })) },
  { words: "numbers of markers", term: "marker", marks: ["time-bars"], says: "Zoomed out, bars count the markers that a region sent; the part in full colour is updates.", group: GROUP, width: 16, needs: "snapshots", draw: bars },
  { words: "time to take a snapshot", term: "snapshot", marks: ["time-snapshot"], says: "A bracket from the first request to the last response. A notch separates two rounds, dashes mean pending, crimson means timed out.", group: GROUP, width: 22, needs: "snapshots", draw: line("proto", 1.2, [], [[1, 13], [1, 7], [21, 7], [21, 13]]) },
  { words: "cause and effect", term: "cause", marks: ["time-cone"], says: "Heavy lines connect the causes and effects of the chosen event.", group: GROUP, width: 18, draw: line("ink", 2, [], [[1, 3], [17, 15]]) },
  { words: "fault or failover", term: "failover", marks: ["time-fault"], says: "A dotted crimson line: a fault or a failover, past or planned.", group: GROUP, width: 10, draw: line("harm", 1.4, [2, 3], [[5, 1], [5, 17]]) },
  { words: "now", term: "instant", marks: ["time-now"], says: "The vertical line through diagram and curve is the instant shown.", group: GROUP, width: 10, draw: line("ink", 1.3, [], [[5, 1], [5, 17]]) },
  { words: "duplicates if it failed over now", term: "duplicate", marks: ["time-curve"], says: "The curve under the diagram: how many duplicates a failover at each instant would have caused; other regions dashed.", group: GROUP, width: 18, needs: "peers", draw: line("harm", 1.8, [], [[1, 15], [6, 15], [6, 5], [17, 5]]) },
  { words: "reason on the curve", term: "cause", marks: ["time-reason"], says: "Text on the curve says why it fell, or why a completed snapshot does not lower it.", group: GROUP, width: 14, needs: "snapshots", draw: line("harm", 1, [], [[3, 16], [3, 4], [12, 4]]) },
  { words: "not run yet", term: "branch", marks: ["time-future"], says: "Hatching: this branch has not been run up to there.", group: GROUP, width: 18, draw: future },
];

/** @typedef {import("../../../render/legend.js").LegendItem} LegendItem */

const cellAt = (context, theme, origin, x, y, colour) => freeCell(context, origin, x, y, 9, 16, colour, theme.ink.bg);
const marker = (kind) => (context, { theme }) => glyph(context, kind, 6.5, MIDDLE, 4.2, theme.ink.proto, theme.ink.bg);

/** A piece of a thread, as `threads.js` draws it. */
const thread = (colour, dash, crossed = false) => (context, { theme }) => {
  context.strokeStyle = theme.ink[colour];
  context.lineWidth = theme.thread;
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(4, 1);
  context.bezierCurveTo(4, 10, 12, 8, 12, 17);
  context.stroke();
  context.setLineDash([]);
  if (crossed) glyph(context, "cross", 8, MIDDLE, 3, theme.ink.harm, theme.ink.bg);
};

const bracket = (colour, width, points) => (context, { theme }) => {
  context.strokeStyle = theme.ink[colour];
  context.lineWidth = width;
  context.beginPath();
  points.forEach(([x, y], at) => (at === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
  context.stroke();
};

const edgeBars = (colour, rows) => (context, { theme }) => {
  context.fillStyle = theme.ink[colour];
  for (const [x, y, width, height] of rows) context.fillRect(x, y, width, height);
};

/** An arc of a link with its arrowhead or cross, as `links.js` draws it. */
const arc = (colour, width, dash, crossed) => (context, { theme }) => {
  context.strokeStyle = theme.ink[colour];
  context.lineWidth = width;
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(2, 1);
  context.bezierCurveTo(12, 4, 12, 14, 2, 17);
  context.stroke();
  context.setLineDash([]);
  if (crossed) glyph(context, "cross", 9, MIDDLE, 3, theme.ink.harm, theme.ink.bg);
  else bracket(colour, 1.3, [[6, 6.5], [9.4, 10], [12.6, 6.5]])(context, { theme });
};

function hatching(context, { theme }) {
  context.strokeStyle = theme.ink.strong;
  context.lineWidth = 1;
  context.beginPath();
  for (let x = 2; x < 18; x += 5) {
    context.moveTo(x + 6, 3);
    context.lineTo(x - 2, 15);
  }
  context.stroke();
}

function notLoaded(context, { theme }) {
  context.save();
  context.fillStyle = theme.ink.line;
  context.strokeStyle = theme.ink.soft;
  context.lineWidth = 1;
  context.beginPath();
  context.rect(0, 2, 14, 14);
  context.clip();
  context.fillRect(0, 2, 14, 14);
  context.beginPath();
  for (let x = -14; x < 14; x += 5) {
    context.moveTo(x, 2);
    context.lineTo(x + 14, 16);
  }
  context.stroke();
  context.restore();
}

const dashedOutline = (colour) => (context, { theme }) => {
  context.strokeStyle = theme.ink[colour];
  context.lineWidth = 1.5;
  context.setLineDash([2, 2]);
  context.strokeRect(1.5, 1.5, 11, 15);
  context.setLineDash([]);
};

function dashedLine(context, colour) {
  context.strokeStyle = colour;
  context.lineWidth = 2;
  context.setLineDash([4, 3]);
  context.beginPath();
  context.moveTo(4, 1);
  context.lineTo(4, 18);
  context.stroke();
  context.setLineDash([]);
}

/** @type {LegendItem[]} */
const LOG = [
  { words: "messages", term: "message", marks: ["message"], says: "A message. Colour and shape show the region in which it was published.", group: "Log", width: (clusters) => 11 * Math.min(4, clusters.length), first: true, draw: (context, { theme, clusters }) => clusters.slice(0, 4).forEach((_, at) => cellAt(context, theme, at, 5 + at * 11, MIDDLE, theme.origin[at])) },
  { words: "acknowledged", term: "acknowledged", marks: ["message-acked"], says: "A faded message is acknowledged, here or in another region.", group: "Log", width: 11, first: true, draw: (context, { theme }) => cellAt(context, theme, 0, 5, MIDDLE, theme.done[0]) },
  {
    words: "delivered, not acked",
    term: "delivered, not acked",
    marks: ["message-unacked"],
    says: "A raised message is delivered to a consumer that has not acknowledged it.",
    group: "Log",
    width: 33,
    first: true,
    draw(context, { theme }) {
      cellAt(context, theme, 0, 5, 11, theme.done[0]);
      cellAt(context, theme, 0, 15.5, 7, theme.origin[0]);
      cellAt(context, theme, 0, 26, 11, theme.done[0]);
    },
  },
  { words: "not replicated or lost", term: "not replicated", marks: ["message-missing"], says: "A dashed outline: after the failover this message is not in the other region, or it is lost; grey if it was processed already.", group: "Log", width: 14, needs: "peers", draw: dashedOutline("harm") },
  { words: "shares of many entries", term: "entry", marks: ["shares"], says: "Zoomed out, one column stands for many entries: the share of each origin, faded when acknowledged.", group: "Log", width: 12, draw: (context, { theme }) => [theme.done[0], theme.origin[0]].forEach((colour, at) => ((context.fillStyle = colour), context.fillRect(2, 2 + at * 7, 8, 7))) },
  { words: "entry not loaded", term: "entry", marks: ["entry-not-loaded"], says: "A hatched entry is not loaded yet, or its state depends on entries that are not loaded yet.", group: "Log", width: 14, draw: notLoaded },
  { words: "ledger begins", term: "ledger", marks: ["ledger"], says: "The log continues in a new ledger; entry numbers start from 0 again.", group: "Log", width: 10, draw: edgeBars("ink3", [[3, 1, 1, 16], [3, 1, 5, 1]]) },
  { words: "region down", term: "region, cluster", marks: ["down"], says: "A hatched lane: the region is down, and its log is not available.", group: "Log", width: 20, draw: hatching },
  { words: "cause or effect", term: "cause", marks: ["lit"], says: "An outline marks an entry in the highlighted chain of causes and effects.", group: "Log", width: 12, draw: (context, { theme }) => bracket("ink", 1.6, [[1, 1], [10, 1], [10, 17], [1, 17], [1, 1]])(context, { theme }) },
];

/** @type {LegendItem[]} */
const CURSORS = [
  { words: "mark-delete", term: "mark-delete position", marks: ["mark-delete"], says: "The pin of a cursor: everything up to it is acknowledged.", group: "Cursors", width: 12, first: true, draw: (context, { theme }) => pin(context, 6, 5, 0, -1, 8, theme.ink.ink, theme.ink.bg, false) },
  { words: "acknowledged range", term: "cursor", marks: ["rail"], says: "The line along a lane is the cursor as it is stored: up to the mark-delete, then each individually deleted range.", group: "Cursors", width: 24, draw: edgeBars("ink", [[0, 8, 13, 2.4], [17, 8, 6, 2.4]]) },
  { words: "your prediction", term: "mark-delete position", marks: ["prediction"], says: "During a tour: a dashed frame around the lane in which you choose a position, and a dashed line at the chosen one.", group: "Cursors", width: 8, draw: (context, { theme }) => dashedLine(context, theme.ink.ink) },
  { words: "read position", term: "cursor", marks: ["read-position"], says: "The open pin: the next entry that the dispatcher reads.", group: "Cursors", width: 12, draw: (context, { theme }) => pin(context, 6, 5, 0, -1, 8, theme.ink.ink, theme.ink.bg, true) },
  { words: "acked in all regions", term: "mark-delete position", marks: ["wash"], says: "Grey background: up to the applied snapshot, everything is acknowledged in all regions of the snapshot.", group: "Cursors", width: 18, needs: "snapshots", first: true, draw: (context, { theme }) => (edgeBars("sunk", [[0, 1, 18, 16]])(context, { theme }), thread("soft", [])(context, { theme })) },
  { words: "duplicates of a failover", term: "duplicates of a failover", marks: ["duplicates-forecast"], says: "A crimson double line: a failover now would deliver these messages again although they are acknowledged.", group: "Cursors", width: 18, needs: "peers", first: true, draw: edgeBars("harm", [[0, 7, 18, 1.5], [0, 10.6, 18, 1.5]]) },
  { words: "delivered again", term: "duplicate", marks: ["duplicates-actual"], says: "A full crimson bar: the failover has delivered these messages again.", group: "Cursors", width: 18, needs: "peers", draw: edgeBars("harm", [[0, 6.5, 18, 5.7]]) },
  { words: "duplicates of one cause", term: "cause", marks: ["cause"], says: "A crimson bracket groups the duplicates that have the same cause, with their number.", group: "Cursors", width: 22, needs: "peers", draw: bracket("harm", 1, [[1, 6], [1, 11], [21, 11], [21, 6]]) },
  {
    words: "replicated up to here",
    term: "replicated up to here",
    marks: ["replicated"],
    says: "A flag: entries after it are not yet replicated to the region whose colour and shape it has.",
    group: "Cursors",
    width: 12,
    needs: "peers",
    first: true,
    draw(context, { theme }) {
      edgeBars("ink3", [[1, 2, 1, 15]])(context, { theme });
      freeCell(context, 1, 6, 6, 7, 8, theme.origin[1], theme.ink.bg);
    },
  },
];

/** @type {LegendItem[]} */
const SNAPSHOTS = [
  { words: "request", term: "request", marks: ["marker-request"], says: "A region asks the others for their positions.", group: "Markers and snapshots", width: 13, draw: marker("snapshot_request"), first: true },
  { words: "response", term: "response", marks: ["marker-response"], says: "A region answers with its position.", group: "Markers and snapshots", width: 13, draw: marker("snapshot_response"), first: true },
  { words: "snapshot", term: "snapshot", marks: ["marker-snapshot"], says: "The completed snapshot, as an entry of the log: the position here and those of the other regions.", group: "Markers and snapshots", width: 13, draw: marker("snapshot"), first: true },
  { words: "update", term: "update", marks: ["marker-update"], says: "Moves the cursor in the other regions to their positions of a snapshot.", group: "Markers and snapshots", width: 13, draw: marker("subscription_update"), first: true },
  { words: "other regions' markers", term: "marker", marks: ["marker-other"], says: "A grey tick is a marker of another region's snapshot. It takes a position in the log, too.", group: "Markers and snapshots", width: 8, draw: edgeBars("strong", [[4, 4, 1.2, 10]]), first: true },
  { words: "positions of a snapshot", term: "snapshot", marks: ["thread-applied", "thread-used", "thread-ready", "thread-finished", "thread-building", "thread-timed-out", "thread-evicted", "thread-bracket"], says: "A thread connects the positions that correspond to each other in the logs of the regions.", group: "Markers and snapshots", width: 16, draw: thread("proto", []), first: true },
  { words: "corresponding position", term: "position", marks: ["thread-bracket"], says: "A closing bracket: the entry before it is the last one that the snapshot covers in this log.", group: "Markers and snapshots", width: 12, draw: bracket("proto", 1.5, [[3, 2], [9, 2], [9, 16], [3, 16]]) },
  { words: "applied", term: "update", marks: ["thread-applied"], says: "A soft thread: the cursors of all its regions have reached this snapshot's positions.", group: "Markers and snapshots", width: 16, draw: thread("soft", []) },
  { words: "used", term: "usable snapshot", marks: ["thread-used"], says: "Long dashes: an update with this snapshot's positions is in flight, and not every region has applied it.", group: "Markers and snapshots", width: 16, draw: thread("proto", [8, 3]) },
  { words: "ready", term: "snapshot cache", marks: ["thread-ready"], says: "A solid thread: the snapshot is in the cache and waits for the mark-delete to pass its position.", group: "Markers and snapshots", width: 16, draw: thread("proto", []) },
  { words: "completed, not in the cache", term: "dispatcher", marks: ["thread-finished"], says: "A dotted thread: the snapshot is complete, and the dispatcher has not read it yet.", group: "Markers and snapshots", width: 16, draw: thread("proto", [1, 3]) },
  { words: "pending", term: "pending, completed, timed out", marks: ["thread-building"], says: "A dashed thread: the snapshot waits for responses.", group: "Markers and snapshots", width: 16, draw: thread("proto", [4, 4]) },
  { words: "timed out", term: "pending, completed, timed out", marks: ["thread-timed-out"], says: "A crossed crimson thread: the snapshot timed out before every region responded.", group: "Markers and snapshots", width: 16, draw: thread("harm", [2, 3], true) },
  { words: "evicted", term: "evicted", marks: ["thread-evicted"], says: "A crossed soft thread: the full cache dropped this snapshot before it was used.", group: "Markers and snapshots", width: 16, draw: thread("soft", [2, 3], true) },
  { words: "snapshot of the last update", term: "update", marks: ["last-update"], says: "A soft glow along a thread: the newest update carried this snapshot's positions.", group: "Markers and snapshots", width: 16, draw: (context, { theme }) => ((context.fillStyle = theme.ink.wash), context.fillRect(0, 1, 16, 16), thread("soft", [])(context, { theme })) },
].map((item) => ({ ...item, needs: "snapshots" }));

/** @type {LegendItem[]} */
const LINKS = [
  { words: "link", term: "replicator", marks: ["link"], says: "The connection of two regions, one arc for each direction; the number is its delay.", group: "Links", width: 16, needs: "peers", draw: arc("strong", 1, [], false) },
  { words: "slowed link", term: "replicator", marks: ["link-slowed"], says: "A heavier arc: the delay of this link is increased.", group: "Links", width: 16, needs: "peers", draw: arc("strong", 2.2, [], false) },
  { words: "broken link", term: "replicator", marks: ["link-broken"], says: "A crossed arc: the link is cut, or one of its regions is down.", group: "Links", width: 16, needs: "peers", draw: arc("harm", 1, [2, 4], true) },
  { words: "message in flight", term: "replicator", marks: ["flight-message"], says: "A message in flight to another region. Click it to delay or drop it.", group: "Links", width: 16, needs: "peers", draw: (context, { theme }) => (arc("line", 1, [], false)(context, { theme }), freeCell(context, 0, 9, MIDDLE, 9, 9, theme.origin[0], theme.ink.bg)) },
  { words: "marker in flight", term: "marker", marks: ["flight-marker"], says: "A marker in flight to another region. Click it to delay or drop it.", group: "Links", width: 16, needs: "snapshots", draw: (context, { theme }) => (arc("line", 1, [], false)(context, { theme }), glyph(context, "snapshot_response", 9, MIDDLE, 4, theme.ink.proto, theme.ink.bg)) },
];

/** @type {LegendItem[]} */
const TWO_RUNS = [{ words: "only in this run", term: "position", marks: ["only-here"], says: "A bar over an entry: only this run of the two has an event of this marker, or the message in this log.", group: "Two runs", width: 18, needs: "beside", first: true, draw: edgeBars("ink", [[1, 3, 16, 4]]) }];

/** @type {LegendItem[]} */
export const LEGEND = [...TWO_RUNS, ...LOG, ...CURSORS, ...SNAPSHOTS, ...LINKS, ...TIME_LEGEND];
