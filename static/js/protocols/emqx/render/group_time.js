/**
 * A group's part of the time section: when it had a leader, and when duplicates were delivered, with their causes.
 * The curve below is the number of duplicates if the leader crashed at each instant.
 */

import { spanFor } from "../../../render/time_axes.js";
import { causeWords } from "../../light_table.js";
import { whole } from "../../../model/format.js";
import { marksOf } from "../../../model/marks.js";
import { markAs } from "../../../render/marks.js";
import { fontOf } from "../../../render/theme.js";
import { MARKS } from "../model/row_words.js";

const LANES = ["leader", "duplicates"];
/** Time shown before the viewer zooms: longer than a lease, so that a reader's loss and its replacement are both in view, µs. */
const SPAN_US = 20_000_000;
/** Duplicates closer than this have one label, px. */
const NEAR_PX = 40;

/** @type {import("../../../render/time_section.js").Diagram} */
export const GROUP_TIME = {
  lanes: () => LANES,
  spanUs: (state) => Math.max(SPAN_US, spanFor(state.playing ? state.speed : 0)),
  read: (state, watched, _window, { wall_ms, bursts }) => ({ waiting: false, bursts: bursts.of(state, watched, wall_ms) }),
  version: () => "",
  paint(context, _state, watched, theme, room) {
    paintLeaders(context, theme, leadersOf(room.landmarks, watched.group, room.now_us), room);
    paintBursts(context, theme, room.shown.bursts.filter(({ from_us }) => from_us <= room.now_us), room);
    return [];
  },
  marks: (state, landmarks) => marksOf(state, landmarks, MARKS).filter(({ done }) => done),
  note: () => "",
  caption: () => ({ lead: "duplicates", rest: " if it crashed now", others: "" }),
  hasCurve: () => true,
};

/** @returns {{number: number, node: string, from_us: number, until_us: number | null}[]} leaders of a group up to an instant */
export function leadersOf(rows, group, now_us) {
  const found = new Map();
  for (const row of rows) {
    if (row.subscription !== group || row.at_us > now_us) continue;
    if (row.type === "leader.elected") found.set(row.count, { number: row.count, node: row.cluster, from_us: row.at_us, until_us: null });
    else if (row.type === "leader.ended" && found.has(row.count)) found.get(row.count).until_us = row.at_us;
  }
  return [...found.values()];
}

/** Draws each leader as a bar with its name; the line between is dotted in the colour of harm: no leader. */
function paintLeaders(context, theme, leaders, { xAt, yAt, x0, x1, now_us }) {
  const y = yAt("leader");
  const now_x = Math.min(x1, xAt(now_us));
  markAs(context, "time-no-leader");
  context.strokeStyle = theme.ink.harm;
  context.lineWidth = 1.2;
  context.setLineDash([2, 4]);
  context.beginPath();
  context.moveTo(Math.max(x0, xAt(leaders[0]?.from_us ?? now_us)), y);
  context.lineTo(now_x, y);
  context.stroke();
  context.setLineDash([]);
  leaders.forEach(({ number, node, from_us, until_us }) => {
    const from = Math.max(x0, xAt(from_us));
    const to = Math.min(now_x, until_us === null ? now_x : xAt(until_us));
    if (to < x0 || from > x1) return;
    markAs(context, "time-leader");
    context.fillStyle = theme.ink.bg;
    context.fillRect(from, y - 2, to - from, 4);
    context.fillStyle = theme.ink.proto;
    context.fillRect(from, y - 1.5 * theme.scale, Math.max(1.5, to - from), 3 * theme.scale);
    markAs(context, "text");
    context.font = fontOf(theme, theme.label, 600);
    context.textAlign = "left";
    const name = `leader ${number} at ${node}`;
    if (context.measureText(name).width < to - from) context.fillText(name, from + 2, y - 10 * theme.scale);
  });
}

/** Draws duplicates as bars on their line, higher for more of them; those near each other share a label with count and cause. */
function paintBursts(context, theme, bursts, { xAt, yAt, x0, x1 }) {
  const y = yAt("duplicates");
  markAs(context, "time-duplicates");
  context.fillStyle = theme.ink.line;
  context.fillRect(x0, y, x1 - x0, 1);
  const seen = bursts.filter(({ from_us, until_us }) => xAt(until_us) >= x0 && xAt(from_us) <= x1);
  context.fillStyle = theme.ink.harm;
  for (const { from_us, until_us, count } of seen) {
    const height = Math.min(15, 5 + 3 * Math.log10(count)) * theme.scale;
    context.fillRect(xAt(from_us) - 1, y - height, Math.max(2.5, xAt(until_us) - xAt(from_us)), height);
  }
  markAs(context, "text");
  context.font = fontOf(theme, theme.label, 600);
  context.textAlign = "left";
  let free = -Infinity;
  for (const { from_us, count, causes } of clustersOf(seen, (us) => xAt(us), NEAR_PX * theme.scale)) {
    const text = `${whole(count)}: ${[...causes].map(([cause, some]) => (causes.size > 1 ? `${whole(some)} ` : "") + causeWords(cause)).join(", ")}`;
    const x = Math.max(x0, Math.min(xAt(from_us), x1 - context.measureText(text).width));
    if (x < free) continue;
    context.fillText(text, x, y + 10 * theme.scale);
    free = x + context.measureText(text).width + 8;
  }
}

/** @returns {{from_us: number, count: number, causes: Map<string, number>}[]} bursts joined where they are nearer than some px */
export function clustersOf(bursts, xAt, near_px) {
  const found = [];
  let end = -Infinity;
  for (const { from_us, until_us, cause, count } of bursts) {
    if (xAt(from_us) - end > near_px) found.push({ from_us, count: 0, causes: new Map() });
    const one = found.at(-1);
    one.count += count;
    one.causes.set(cause, (one.causes.get(cause) ?? 0) + count);
    end = xAt(until_us);
  }
  return found;
}
