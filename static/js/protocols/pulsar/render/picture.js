/**
 * Draws a scenario's small picture: the newest cells of each cluster with the cursor below them, from a real run.
 * It uses the marks of the lab, without texts.
 */

import { markerKind, originOf } from "../model/cells.js";
import { isAcknowledged } from "../model/acknowledged.js";
import { prepared } from "../../../render/canvas.js";
import { glyph, laneCell, MARKER_WORDS, pin } from "../../../render/glyphs.js";
import { ORIGINS, themeFor } from "../../../render/theme.js";

/** Widest and narrowest message, px. */
const WIDEST_PX = 13;
const NARROWEST_PX = 4;

/**
 * @param {HTMLCanvasElement} canvas
 * @param {{lanes: any[], subject?: string, threads?: any[]}} picture as received from the server
 * @param {import("../../../render/theme.js").Theme} page_theme
 * @param {{ratio: number, width: number, height: number}} given
 */
export function paintLanesPicture(canvas, picture, page_theme, { ratio, width, height }) {
  const context = prepared(canvas, width, height, ratio);
  const { lanes } = picture;
  if (!lanes?.length) return;
  const theme = themeFor(page_theme, lanes.map(({ cluster }) => cluster).sort());
  const subscription = watchedOf(lanes);
  const acknowledged = identities(lanes, subscription);
  const pitch = height / lanes.length;
  const cell = Math.min(22, pitch * 0.5);
  const left = lanes.findIndex((lane) => lane.cluster === picture.subject);
  const subject = left < 0 ? subjectOf(lanes, subscription) : left;
  const isOwn = ownMarkers(lanes, lanes[subject].number);
  const units = Math.max(1, ...lanes.map((lane) => lane.cells.kind.reduce((sum, kind, at) => sum + unitsOf(lane.cells, at, isOwn), 0)));
  const unit_px = Math.max(NARROWEST_PX, Math.min(WIDEST_PX * (height / 112), width / units));
  const head = Math.min(width - 5, units * unit_px + 2);
  const placed = lanes.map((lane, at) => {
    const base = at * pitch + Math.max(6, (pitch - cell - 10) / 2);
    const edges = paintLane(context, lane, theme, { base, cell, unit_px, width: head, cursor: lane.subscriptions?.[subscription], acknowledged, isOwn });
    return { lane, base, edges, cursor: lane.subscriptions?.[subscription] };
  });
  for (const thread of picture.threads ?? []) if (thread.of === lanes[subject].cluster) paintThread(context, theme, thread, placed, cell);
}

/** Draws a snapshot's thread through the lanes, at the right of the last entry that it covers. Soft when the other clusters have applied it. */
function paintThread(context, theme, { of, ends }, placed, cell) {
  const points = placed.map(({ lane, base, edges }) => ({ x: edges.get(ends[lane.cluster]), top: base - 3, foot: base + cell + 2 })).filter(({ x }) => x !== undefined);
  if (points.length < 2) return;
  const reached = placed.every(({ lane, cursor }) => lane.cluster === of || ends[lane.cluster] === undefined || (cursor && cursor.mark_delete_index >= ends[lane.cluster]));
  context.strokeStyle = reached ? theme.ink.soft : theme.ink.proto;
  context.lineWidth = 1.4;
  context.beginPath();
  points.forEach(({ x, top, foot }, at) => {
    if (at === 0) context.moveTo(x, top);
    else {
      const above = points[at - 1];
      const middle = (above.foot + top) / 2;
      context.bezierCurveTo(above.x, middle, x, middle, x, top);
    }
    context.lineTo(x, foot);
  });
  context.stroke();
}

function watchedOf(lanes) {
  for (const lane of lanes) for (const name of Object.keys(lane.subscriptions ?? {})) return name;
  return null;
}

const identityAt = (cells, at) => `${cells.names[cells.producer[at]]}/${cells.number[at]}`;

function identities(lanes, subscription) {
  const known = new Set();
  for (const { cells, subscriptions } of lanes) {
    const cursor = subscriptions?.[subscription];
    cells.kind.forEach((kind, at) => {
      if (kind < 100 && isAcknowledged(cursor, cells.first + at)) known.add(identityAt(cells, at));
    });
  }
  return known;
}

const unitsOf = (cells, at, isOwn) => (cells.kind[at] < 100 ? 1 : isOwn(cells, at) ? 0.8 : 0.36);

/** The lane whose cursor covers the largest share of its log, which is taken as the one with the consumers. */
function subjectOf(lanes, subscription) {
  const share = (lane) => {
    const cursor = lane.subscriptions?.[subscription];
    if (!cursor || lane.state !== "up") return -1;
    return (cursor.mark_delete_index + 1 + cursor.ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0)) / Math.max(1, lane.length);
  };
  return lanes.reduce((best, lane, at) => (share(lane) > share(lanes[best]) ? at : best), 0);
}

/** @returns {(cells: object, at: number) => boolean} whether a marker belongs to a snapshot of the cluster with this number */
function ownMarkers(lanes, number) {
  const owners = new Map();
  for (const { cells } of lanes) {
    cells.kind.forEach((kind, at) => {
      if (markerKind(kind) === 110 || markerKind(kind) === 112) owners.set(cells.snapshot[at], originOf(kind));
    });
  }
  return (cells, at) => (owners.get(cells.snapshot[at]) ?? originOf(cells.kind[at])) === number;
}

function paintLane(context, lane, theme, { base, cell, unit_px, width, cursor, acknowledged, isOwn }) {
  const { cells } = lane;
  const plane = { turned: false, cell, scale: cell / 30 };
  const edges = new Map();
  let along = width;
  let mark = 0;
  for (let at = cells.kind.length - 1; at >= 0; at--) {
    const kind = cells.kind[at];
    const length = unitsOf(cells, at, isOwn) * unit_px;
    along -= length;
    if (along < -length) break;
    edges.set(cells.first + at, along + length);
    const here = isAcknowledged(cursor, cells.first + at);
    if (cursor && cells.first + at <= cursor.mark_delete_index) mark = Math.max(mark, along + length);
    if (kind >= 100) {
      paintMarker(context, theme, kind, { x: along + length / 2, y: base + cell / 2, radius: Math.min(3.8, unit_px * 0.36), here, own: isOwn(cells, at) });
      continue;
    }
    const done = here || acknowledged.has(identityAt(cells, at));
    context.fillStyle = (done ? theme.done : theme.origin)[originOf(kind) % ORIGINS];
    laneCell(context, plane, { base }, originOf(kind), along, 0, length - 0.8, theme.ink.bg);
  }
  paintCursor(context, theme, { y: base + cell + 3, begin: Math.max(0, along), mark, cursor });
  paintDuplicates(context, theme, lane, { y: base + cell + 3, edges, lengthOf: (at) => unitsOf(cells, at, isOwn) * unit_px });
  if (lane.state !== "up") hatch(context, theme, base - 2, width, cell + 4);
  return edges;
}

function paintMarker(context, theme, kind, { x, y, radius, here, own }) {
  if (!own) {
    context.fillStyle = theme.ink.line;
    context.fillRect(x - 0.5, y - 4, 1, 8);
    return;
  }
  glyph(context, MARKER_WORDS[markerKind(kind)], x, y, radius, here ? theme.ink.soft : theme.ink.proto, theme.ink.bg);
}

/** Entries with duplicates, from the engine: a bar for those that a failover has delivered, two lines for those that one would deliver. */
function paintDuplicates(context, theme, { cells, duplicates }, { y, edges, lengthOf }) {
  context.fillStyle = theme.ink.harm;
  for (const [first, last] of duplicates?.ranges ?? []) {
    for (let index = Math.max(first, cells.first); index <= last; index++) {
      const end = edges.get(index);
      if (end === undefined || cells.kind[index - cells.first] >= 100) continue;
      const length = lengthOf(index - cells.first);
      if (duplicates.delivered) context.fillRect(end - length, y, length, 4);
      else for (const line of [0, 2.8]) context.fillRect(end - length, y + line, length, 1.2);
    }
  }
}

function paintCursor(context, theme, { y, begin, mark, cursor }) {
  if (!cursor) return;
  context.fillStyle = theme.ink.ink;
  if (mark > begin) context.fillRect(begin, y, mark - begin, 2.2);
  if (mark > 0) pin(context, mark, y + 1, 0, -1, 6, theme.ink.ink, theme.ink.bg, false);
}

function hatch(context, theme, y, width, height) {
  context.save();
  context.beginPath();
  context.rect(0, y, width, height);
  context.clip();
  context.globalAlpha = 0.55;
  context.fillStyle = theme.ink.bg;
  context.fillRect(0, y, width, height);
  context.strokeStyle = theme.ink.strong;
  context.lineWidth = 1;
  context.beginPath();
  for (let x = -height; x < width; x += 6) {
    context.moveTo(x, y + height);
    context.lineTo(x + height, y);
  }
  context.stroke();
  context.restore();
}
