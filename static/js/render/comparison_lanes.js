/**
 * Draws one strategy's picture: the source's messages above, the target's below, and the messages in flight between them.
 * Messages are in order of publishing. The rail below a strip marks the messages that its cluster counts as acknowledged. A message whose
 * acknowledgement is missing in the target will be a duplicate.
 */

import { cellAt, CELL, holeAt, passagesAt, reached, duplicateAt } from "../model/comparison.js";
import { prepared } from "./canvas.js";
import { glyph, laneCell } from "./glyphs.js";
import { fontOf, ORIGINS, themeFor } from "./theme.js";

const EDGE = 2;
const CELL_PX = 22;
const HEAD_PX = 18;
const BETWEEN_PX = 58;
/** Smaller on a phone, so that the three pictures are in view together. */
const BETWEEN_NARROW_PX = 30;
const FOOT_PX = 16;
/** Cells narrower than this are drawn without gaps, px. */
const GAP_FROM_PX = 4;
const WITH_CONSUMERS = "consumers connected here";

/** @returns {number} height of a picture, CSS px */
const lanesHeight = (theme, narrow) => (2 * (HEAD_PX + CELL_PX) + between(narrow) + FOOT_PX) * theme.scale;

const between = (narrow) => (narrow ? BETWEEN_NARROW_PX : BETWEEN_PX);

/**
 * @param {HTMLCanvasElement} canvas
 * @param {import("../model/comparison.js").Column} column
 * @param {{theme: import("./theme.js").Theme, width: number, ratio: number, at_us: number, most: number, clusters: string[], narrow: boolean}} given
 *   most: number of messages that fit into the width, the same in every column
 */
export function paintLanes(canvas, column, given) {
  const { width, ratio, at_us, most, clusters, narrow } = given;
  const theme = themeFor(given.theme, clusters);
  const context = prepared(canvas, width, lanesHeight(theme, narrow), ratio);
  const { followed } = column;
  const size = theme.scale;
  const source = { base: HEAD_PX * size, name: followed.from, in_target: false };
  const target = { base: (2 * HEAD_PX + CELL_PX + between(narrow)) * size, name: followed.to, in_target: true };
  const step = (width - 2 * EDGE) / Math.max(1, most);
  const messages = followed.messages;
  const moved = at_us >= followed.at_us;
  for (const lane of [source, target]) {
    const free = writeName(context, theme, lane, moved);
    if (!messages) continue;
    paintStrip(context, theme, lane, messages, { at_us, step, moved, clusters });
    nameHole(context, theme, lane, messages, { at_us, step, free, width });
  }
  paintPassages(context, theme, column, { at_us, step, source, target, size, width });
}

function writeName(context, theme, lane, moved) {
  context.font = fontOf(theme, theme.label, 600);
  context.textBaseline = "alphabetic";
  context.textAlign = "left";
  context.fillStyle = theme.ink.ink;
  context.fillText(lane.name, EDGE, lane.base - 6 * theme.scale);
  const x = EDGE + context.measureText(lane.name).width + 8 * theme.scale;
  if (lane.in_target !== moved) return x;
  context.font = fontOf(theme);
  context.fillStyle = theme.ink.ink2;
  context.fillText(WITH_CONSUMERS, x, lane.base - 6 * theme.scale);
  return x + context.measureText(WITH_CONSUMERS).width + 8 * theme.scale;
}

/** Names the oldest unacked message before acked ones: the hole that holds back the mark-delete position. */
function nameHole(context, theme, lane, messages, { at_us, step, free, width }) {
  const at = holeAt(messages, at_us, lane.in_target);
  if (at < 0) return;
  const name = `${messages.producer[at]}/${messages.sequence_id[at]}`;
  context.font = fontOf(theme, theme.label, 600);
  const wide = context.measureText(name).width;
  const middle = EDGE + (at + 0.5) * step;
  const left = Math.min(width - EDGE - wide, Math.max(free, middle - wide / 2));
  if (left > middle || left + wide < middle) return; // no room over the cell itself
  context.fillStyle = theme.ink.ink;
  context.fillText(name, left, lane.base - 6 * theme.scale);
}

function paintStrip(context, theme, lane, messages, { at_us, step, moved, clusters }) {
  const size = theme.scale;
  const plane = { turned: false, cell: CELL_PX * size, scale: size };
  const gap = step >= GAP_FROM_PX ? 1 : 0;
  const rails = [];
  for (let at = 0; at < messages.stored_us.length; at++) {
    const state = cellAt(messages, at, at_us, lane.in_target);
    if (state === CELL.absent) continue;
    const from = EDGE + at * step;
    const length = Math.max(0.7, step - gap);
    const origin = Math.max(0, clusters.indexOf(messages.origin[at])) % ORIGINS;
    context.fillStyle = state === CELL.done ? theme.done[origin] : theme.origin[origin];
    laneCell(context, plane, lane, origin, from, 0, length, theme.ink.bg);
    const duplicate = lane.in_target ? duplicateAt(messages, at, at_us, moved) : "";
    const kind = duplicate || (state === CELL.done ? "rail" : "");
    const last = rails.at(-1);
    if (kind && last?.kind === kind && last.next === at) last.next = at + 1;
    else if (kind) rails.push({ kind, first: at, next: at + 1 });
  }
  for (const { kind, first, next } of rails) paintRail(context, theme, kind, EDGE + first * step, lane.base + (CELL_PX + 4) * size, (next - first) * step - gap);
}

function paintRail(context, theme, kind, from, top, length) {
  if (kind !== "rail") return paintDuplicate(context, theme, from, top, length, kind);
  context.fillStyle = theme.ink.ink;
  context.fillRect(from, top, length, theme.rail);
}

/** A double line: a forecast duplicate; a full bar: an actual duplicate. */
function paintDuplicate(context, theme, from, top, length, duplicate) {
  const line = theme.rail * 0.6;
  context.fillStyle = theme.ink.harm;
  if (duplicate === "has") context.fillRect(from, top - line / 2, length, line * 3.8);
  else {
    context.fillRect(from, top, length, line);
    context.fillRect(from, top + line * 2.4, length, line);
  }
}

function paintPassages(context, theme, column, { at_us, step, source, target, size, width }) {
  const top = source.base + (CELL_PX + 12) * size;
  const bottom = target.base - HEAD_PX * size - 2 * size;
  for (const { kind, from, left_us, way, lost } of passagesAt(column.followed, at_us)) {
    const down = from === source.name;
    const head = EDGE + reached(column.sorted.stored, left_us) * step + (down ? 0 : 8 * size);
    const x = Math.max(8 * size, Math.min(width - 8 * size, head));
    const y = down ? top + (bottom - top) * way : bottom - (bottom - top) * way;
    if (kind === "request") paintRequest(context, theme, x, y, top, size);
    else glyph(context, kind, x, y, 4.5 * size, theme.ink.proto, theme.ink.bg);
    if (lost) glyph(context, "cross", x, y, 3 * size, theme.ink.harm, theme.ink.bg);
  }
}

/** A request of acknowledgement-state sync in flight, drawn as a piece of rail. */
function paintRequest(context, theme, x, y, top, size) {
  context.strokeStyle = theme.ink.soft;
  context.lineWidth = theme.thread;
  context.beginPath();
  context.moveTo(x, top);
  context.lineTo(x, y);
  context.stroke();
  context.fillStyle = theme.ink.proto;
  context.fillRect(x - 6 * size, y - 2 * size, 12 * size, 4 * size);
}
