/**
 * Draws the marks of the page: a message's cell by origin (hue and shape), a marker's glyph by type, pins and flags.
 * Every part that shows a mark (lanes, diagram, list, legend, gallery) uses these functions.
 */

import { fillBox } from "../layout/plane.js";
import { ORIGINS } from "./theme.js";

/** Shapes by cluster number: undivided, in two pieces, with a hole, in three pieces. */
const SHAPES = ["whole", "split", "pierced", "barred"];

/** Draws a cell of a lane. `along`: its near edge; `offset`: 0 on the strip, negative when raised; `named`: its number is written on it. The caller sets fillStyle. */
export function laneCell(context, plane, lane, origin, along, offset, length, ground, named = false) {
  const breadth = plane.cell;
  const shape = SHAPES[origin % ORIGINS];
  if (shape === "split" || shape === "barred") {
    for (const [from, thick] of piecesOf(shape, breadth, plane.scale, named)) fillBox(context, plane, lane, along, offset + from, length, thick);
    return;
  }
  fillBox(context, plane, lane, along, offset, length, breadth);
  if (shape === "pierced" && length >= 4) {
    const radius = Math.min(2.8 * plane.scale, length * 0.3);
    const colour = context.fillStyle;
    context.fillStyle = ground;
    if (length >= 6) {
      context.beginPath();
      const middle = offset + breadth * (named ? 0.2 : 0.5);
      if (plane.turned) context.arc(lane.base - middle, along + length / 2, radius, 0, 7);
      else context.arc(along + length / 2, lane.base + middle, radius, 0, 7);
      context.fill();
    } else fillBox(context, plane, lane, along + length / 2 - 1, offset + breadth / 2 - 3, 2, 6);
    context.fillStyle = colour;
  }
}

/** Position of a cell's number as a share of its breadth: on the piece that is large enough for it. */
export const numberPlace = (origin) => ({ whole: 0.5, split: 0.64, pierced: 0.64, barred: 0.68 })[SHAPES[origin % ORIGINS]];

/** The pieces of a cell, [from, thickness] each: of equal size, or all but the last thin to leave room for a number. */
function piecesOf(shape, breadth, scale, named) {
  const pieces = shape === "split" ? 2 : 3;
  const gap = (shape === "split" ? 3 : 2.5) * scale;
  const left = breadth - gap * (pieces - 1);
  const thin = named ? breadth * (shape === "split" ? 0.2 : 0.1) : left / pieces;
  return Array.from({ length: pieces }, (_, at) => [at * (thin + gap), at < pieces - 1 ? thin : left - thin * (pieces - 1)]);
}

/** Draws a message outside a lane: centre and size in px. */
export function freeCell(context, origin, x, y, width, height, colour, ground) {
  const plane = { turned: false, cell: height, scale: Math.min(1, height / 20) };
  context.fillStyle = colour;
  laneCell(context, plane, { base: y - height / 2 }, origin, x - width / 2, 0, width, ground);
}

/**
 * Draws a marker: a request is an open ring, a response a half-filled ring, a snapshot a full diamond, an update a pin.
 * @param {"snapshot_request" | "snapshot_response" | "snapshot" | "subscription_update" | "pin" | "cross" | "dot"} kind
 */
export function glyph(context, kind, x, y, radius, colour, ground) {
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.lineWidth = Math.max(1.2, radius * 0.32);
  GLYPHS[kind]?.(context, x, y, radius, ground, colour);
}

const GLYPHS = {
  snapshot_request(context, x, y, radius, ground) {
    ring(context, x, y, radius, ground);
  },
  snapshot_response(context, x, y, radius, ground, colour) {
    ring(context, x, y, radius, ground);
    context.fillStyle = colour;
    context.beginPath();
    context.arc(x, y, radius, Math.PI / 2, -Math.PI / 2);
    context.fill();
  },
  snapshot(context, x, y, radius) {
    const arm = radius * 1.25;
    polygon(context, [x, y - arm, x + arm, y, x, y + arm, x - arm, y]);
  },
  subscription_update(context, x, y, radius) {
    const arm = radius * 1.15;
    polygon(context, [x - arm, y - arm, x + arm, y - arm, x + arm, y - arm * 0.2, x, y + arm, x - arm, y - arm * 0.2]);
  },
  pin(context, x, y, radius) {
    polygon(context, [x, y - radius, x + radius, y + radius, x - radius, y + radius]);
  },
  cross(context, x, y, radius) {
    context.lineWidth = Math.max(1.6, radius * 0.4);
    context.beginPath();
    context.moveTo(x - radius, y - radius);
    context.lineTo(x + radius, y + radius);
    context.moveTo(x + radius, y - radius);
    context.lineTo(x - radius, y + radius);
    context.stroke();
  },
  dot(context, x, y, radius) {
    context.beginPath();
    context.arc(x, y, radius * 0.5, 0, 7);
    context.fill();
  },
};

function ring(context, x, y, radius, ground) {
  context.fillStyle = ground;
  context.beginPath();
  context.arc(x, y, radius, 0, 7);
  context.fill();
  context.stroke();
}

function polygon(context, points) {
  context.beginPath();
  context.moveTo(points[0], points[1]);
  for (let at = 2; at < points.length; at += 2) context.lineTo(points[at], points[at + 1]);
  context.closePath();
  context.fill();
}

/** Draws a cursor's pin: its tip at (x, y), pointing along (dx, dy), one of which is 0. Open pins are read positions. */
export function pin(context, x, y, dx, dy, size, colour, ground, open) {
  const px = -dy;
  const py = dx;
  context.fillStyle = open ? ground : colour;
  context.strokeStyle = colour;
  context.lineWidth = 1.4;
  polygon(context, [x, y, x - dx * size + px * size * 0.62, y - dy * size + py * size * 0.62, x - dx * size - px * size * 0.62, y - dy * size - py * size * 0.62]);
  if (open) context.stroke();
}

export const MARKER_WORDS = { 110: "snapshot_request", 111: "snapshot_response", 112: "snapshot", 113: "subscription_update" };
