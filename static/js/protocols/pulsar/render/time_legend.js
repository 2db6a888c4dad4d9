/** The part of the legend for the time diagram. */

import { glyph } from "../../../render/glyphs.js";

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
