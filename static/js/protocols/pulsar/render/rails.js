/**
 * Draws the marks beside a strip: the mark-delete and ranges as a rail, pins, duplicates, brackets, flags of replicators.
 * Duplicates are forecast or actual ones. Labels are only requested here; their placement is elsewhere.
 */

import { DUPLICATE, FORECAST_DUPLICATE } from "../model/entry_flags.js";
import { farEdge, flagHeight, forRuns, nearEdge } from "../layout/strip.js";
import { fillBox, xOf, yOf } from "../../../layout/plane.js";
import { pin } from "../../../render/glyphs.js";
import { ORIGINS } from "../../../render/theme.js";
import { laneCell } from "../../../render/glyphs.js";
import { markAs } from "../../../render/marks.js";

/** Offsets of the rail below a strip, and of the brackets below the rail, in px at scale 1. */
const RAIL_PX = 5;
const BRACKET_PX = 32;

/** @returns {number} offset of the rail's near side */
const railOffset = (plane) => plane.cell + RAIL_PX * plane.scale;

export function drawRail(context, scene, lane, theme) {
  const { plane } = scene;
  const { strip, cursor, topic } = scene.lanes[lane.name];
  if (!cursor) return;
  const offset = railOffset(plane);
  markAs(context, "rail");
  context.fillStyle = theme.ink.ink;
  const end = clamped(plane, farEdge(strip, cursor.mark_delete_index));
  const begin = strip.from > (topic?.first_kept ?? 0) ? plane.a0 - 8 : Math.max(plane.a0 - 8, nearEdge(strip, strip.from));
  if (end > begin) fillBox(context, plane, lane, begin, offset, end - begin, theme.rail);
  for (const [first, last] of cursor.ranges) {
    const from = clamped(plane, nearEdge(strip, first));
    const to = clamped(plane, farEdge(strip, last));
    if (to > from) fillBox(context, plane, lane, from, offset, Math.max(to - from, 1), theme.rail);
  }
}

export function drawPins(context, scene, lane, theme) {
  const { plane } = scene;
  const { pins } = scene.lanes[lane.name];
  const size = 8 * plane.scale;
  const [dx, dy] = plane.turned ? [1, 0] : [0, -1];
  const at = (along, level, hollow) => {
    markAs(context, hollow ? "read-position" : "mark-delete");
    const offset = railOffset(plane) + theme.rail / 2 + level * (size + 1) - (hollow ? 0 : 1);
    pin(context, xOf(plane, lane, along, offset), yOf(plane, lane, along, offset), dx, dy, size, theme.ink.ink, theme.ink.bg, hollow);
  };
  if (pins.read) at(pins.read.along, pins.read.level, true);
  if (pins.mark !== null) at(pins.mark, 0, false);
}

/** Draws a double line in place of the rail for entries that would be duplicates, and a full bar for actual duplicates. */
export function drawDuplicates(context, scene, lane, theme) {
  const { plane } = scene;
  const { strip, bits } = scene.lanes[lane.name];
  const offset = railOffset(plane) - 1 * plane.scale;
  const line = 1.5 * plane.scale;
  for (const [bit, draw] of /** @type {[number, typeof fullBar][]} */ ([
    [FORECAST_DUPLICATE, doubleLine],
    [DUPLICATE, fullBar],
  ])) {
    forRuns(bits, bit, (first, last) => {
      const from = clamped(plane, nearEdge(strip, strip.from + first));
      const to = clamped(plane, farEdge(strip, strip.from + last)) - 1;
      if (to > from) draw(context, plane, lane, from, to - from, offset, line, theme);
    });
  }
}

function doubleLine(context, plane, lane, along, length, offset, line, theme) {
  markAs(context, "duplicates-forecast");
  context.fillStyle = theme.ink.harm;
  fillBox(context, plane, lane, along, offset, length, line);
  fillBox(context, plane, lane, along, offset + line * 2.4, length, line);
}

function fullBar(context, plane, lane, along, length, offset, line, theme) {
  markAs(context, "duplicates-actual");
  context.fillStyle = theme.ink.harm;
  fillBox(context, plane, lane, along, offset - 1, length, line * 3.8);
}

/** @returns {{from: number, to: number, offset: number}[]} a bracket per cause: range along the lane, and offset of its line */
function bracketsOf(scene, lane, theme) {
  const { plane } = scene;
  const { strip, stretches } = scene.lanes[lane.name];
  const offset = (plane.turned ? plane.cell + 11 : plane.cell + BRACKET_PX * plane.scale) + theme.rail;
  return stretches.map(({ first, last }) => ({ from: clamped(plane, nearEdge(strip, first)), to: clamped(plane, farEdge(strip, last)) - 1, offset })).filter(({ from, to }) => to - from >= 3);
}

/** @returns {{x: number, y: number, width: number, height: number}[]} areas of the brackets' lines, which labels should not cover */
export function bracketBoxes(scene, lane, theme) {
  const { plane } = scene;
  return bracketsOf(scene, lane, theme).map(({ from, to, offset }) => {
    const [x, y] = [xOf(plane, lane, from, offset), yOf(plane, lane, from, offset)];
    return plane.turned ? { x, y, width: 1, height: to - from } : { x, y, width: to - from, height: 1 };
  });
}

/** Draws a bracket per cause below the double line. */
export function drawBrackets(context, scene, lane, theme) {
  const { plane } = scene;
  markAs(context, "cause");
  context.strokeStyle = theme.ink.harm;
  context.lineWidth = 1;
  for (const { from, to, offset } of bracketsOf(scene, lane, theme)) {
    const rise = 4 * plane.scale;
    context.beginPath();
    for (const [at, [along, depth]] of [[from, offset - rise], [from, offset], [to, offset], [to, offset - rise]].entries()) {
      const x = xOf(plane, lane, along, depth);
      const y = yOf(plane, lane, along, depth);
      if (at === 0) context.moveTo(x, y);
      else context.lineTo(x, y);
    }
    context.stroke();
  }
}

/** Draws flags above the strip: entries right of a flag are not confirmed in the region whose hue and shape the flag has. */
export function drawFlags(context, scene, lane, theme) {
  const { plane } = scene;
  markAs(context, "replicated");
  for (const { along, level, peer } of scene.lanes[lane.name].pins.flags) {
    const height = flagHeight(plane, level);
    context.fillStyle = theme.ink.ink3;
    fillBox(context, plane, lane, along - 0.5, -height, 1, height);
    const origin = scene.watched.clusters.indexOf(peer) % ORIGINS;
    context.fillStyle = theme.origin[origin];
    const flag_plane = { ...plane, cell: 8 * plane.scale, scale: 0.6 * plane.scale };
    laneCell(context, flag_plane, lane, origin, along + 0.5, -height, 7 * plane.scale, theme.ink.bg);
  }
}

const clamped = (plane, along) => Math.min(plane.a1, Math.max(plane.a0, along));
