/** Draws one log as a strip: entries one by one while they are wide enough, else a column of shares per pixel. */

import { markerKind, originOf } from "../model/cells.js";
import { DUPLICATE, ACKED, UNACKED, ACKED_HERE, LOST, OWN_MARKER, NOT_REPLICATED, UNKNOWN } from "../model/entry_flags.js";
import { farEdge, forRuns, nearEdge } from "../layout/strip.js";
import { fillBox, xOf, yOf } from "../../../layout/plane.js";
import { glyph, laneCell, MARKER_WORDS, numberPlace } from "../../../render/glyphs.js";
import { markAs } from "../../../render/marks.js";
import { fontOf, ORIGINS } from "../../../render/theme.js";

/** Entries at least this wide show their number, px. */
const NAMED_PX = 26;
/** Share of a turned cell's breadth that a number has; the rest shows the shape of the origin. */
const NUMBER_ROOM = 0.72;
/** Largest width of a bold digit in any of the page's fonts, as a share of the font size. */
const DIGIT = 0.7;
/** From this width on each entry that is not replicated or lost has its own outline, px; below it, each run of them has one. */
const OUTLINED_PX = 8;
/** Distance of the lines of a hatching, px. */
const HATCH_PX = 5;
/** The legend's marks, by the word of a marker. */
const MARKS_OF_MARKERS = { snapshot_request: "marker-request", snapshot_response: "marker-response", snapshot: "marker-snapshot", subscription_update: "marker-update" };

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import("../layout/scene.js").Scene} scene
 * @param {{name: string, base: number}} lane
 * @param {import("../../../render/theme.js").Theme} theme
 */
export function drawStrip(context, scene, lane, theme) {
  const held = scene.lanes[lane.name];
  if (held.strip.fine) drawEntries(context, scene.plane, lane, held, theme);
  if (held.strip.unit_px < OUTLINED_PX) outlineRuns(context, scene.plane, lane, held, theme);
}

function outlineRuns(context, plane, lane, { strip, bits }, theme) {
  forRuns(bits, NOT_REPLICATED | LOST, (first, last) => {
    const along = Math.max(plane.a0, nearEdge(strip, strip.from + first));
    outline(context, plane, lane, along, 0, Math.min(plane.a1, farEdge(strip, strip.from + last)) - along, theme, bits.subarray(first, last + 1).some(isHarm));
  });
}

function drawEntries(context, plane, lane, held, theme) {
  const { strip, bits, store } = held;
  const gap = strip.unit_px >= 5 ? 1 : 0.4;
  /** @type {[along: number, length: number][]} */
  const unknown = [];
  for (let index = strip.from; index < strip.to; index++) {
    const along = strip.edges[index - strip.from];
    if (along < plane.a0 - 8) continue; // half outside the window: the rail and the wash begin there too
    const length = strip.edges[index - strip.from + 1] - along;
    const at = store ? index - store.first : -1;
    if (at < 0 || at >= store.count) {
      unknown.push([along, length - gap]);
      continue;
    }
    if (bits[index - strip.from] & UNKNOWN) {
      unknown.push([along, length - gap]);
      continue;
    }
    const kind = store.columns.kind[at];
    if (kind < 100) drawMessage(context, plane, lane, theme, { along, length: length - gap, kind, bits: bits[index - strip.from], number: store.columns.number[at] });
    else drawMarker(context, plane, lane, theme, { along, length, kind, bits: bits[index - strip.from] });
  }
  hatch(context, plane, lane, unknown, theme);
}

/** Draws stretches of a strip as hatched, without the colours of a state. @param {[along: number, length: number][]} stretches */
function hatch(context, plane, lane, stretches, theme) {
  if (stretches.length === 0) return;
  markAs(context, "entry-not-loaded");
  context.save();
  context.beginPath();
  for (const [along, length] of stretches) {
    if (plane.turned) context.rect(lane.base - plane.cell, along, plane.cell, length);
    else context.rect(along, lane.base, length, plane.cell);
  }
  context.clip();
  context.fillStyle = theme.ink.line;
  context.strokeStyle = theme.ink.soft;
  context.lineWidth = 1;
  const from = stretches[0][0] - plane.cell;
  const to = stretches.at(-1)[0] + stretches.at(-1)[1];
  fillBox(context, plane, lane, from, 0, to - from, plane.cell);
  context.beginPath();
  for (let along = Math.floor(from / HATCH_PX) * HATCH_PX; along < to; along += HATCH_PX) {
    context.moveTo(xOf(plane, lane, along, 0), yOf(plane, lane, along, 0));
    context.lineTo(xOf(plane, lane, along + plane.cell, plane.cell), yOf(plane, lane, along + plane.cell, plane.cell));
  }
  context.stroke();
  context.restore();
}

function drawMessage(context, plane, lane, theme, { along, length, kind, bits, number }) {
  const origin = originOf(kind) % ORIGINS;
  const raised = (bits & UNACKED) !== 0;
  const pale = !raised && (bits & (ACKED | DUPLICATE)) !== 0;
  const offset = raised ? -plane.lift : 0;
  const name = String(number);
  markAs(context, raised ? "message-unacked" : pale ? "message-acked" : "message");
  const named = plane.turned ? length >= theme.label + 2 && name.length * theme.label * DIGIT <= plane.cell * NUMBER_ROOM : length >= NAMED_PX && name.length * theme.label * DIGIT + 4 <= length;
  context.fillStyle = pale ? theme.done[origin] : theme.origin[origin];
  laneCell(context, plane, lane, origin, along, offset, length, theme.ink.bg, named);
  if (bits & (NOT_REPLICATED | LOST) && length >= OUTLINED_PX - 1) outline(context, plane, lane, along, offset, length, theme, isHarm(bits));
  if (!named) return;
  markAs(context, "text");
  context.fillStyle = pale ? theme.ink.ink2 : theme.ink.bg;
  context.font = fontOf(theme, theme.label, 600);
  context.textAlign = "center";
  context.textBaseline = "middle";
  const across = offset + plane.cell * numberPlace(origin);
  context.fillText(name, xOf(plane, lane, along + length / 2, across), yOf(plane, lane, along + length / 2, across) + 0.5, plane.turned ? plane.cell * NUMBER_ROOM : length);
}

/** Whether a message is lost, or unread and only here: one that was processed already is no harm. */
const isHarm = (bits) => (bits & LOST) !== 0 || !(bits & ACKED);

function outline(context, plane, lane, along, offset, length, theme, harm) {
  markAs(context, "message-missing");
  context.save();
  context.strokeStyle = harm ? theme.ink.harm : theme.ink.strong;
  context.lineWidth = 1.5;
  context.setLineDash([2, 2]);
  const x = plane.turned ? lane.base - offset - plane.cell : along;
  const y = plane.turned ? along : lane.base + offset;
  const [width, height] = plane.turned ? [plane.cell, length] : [length, plane.cell];
  context.strokeRect(x - 1, y - 2, width + 2, height + 4);
  context.restore();
}

function drawMarker(context, plane, lane, theme, { along, length, kind, bits }) {
  const middle = along + length / 2;
  if (!(bits & OWN_MARKER)) {
    markAs(context, "marker-other");
    context.fillStyle = theme.ink.strong;
    context.globalAlpha = 0.75;
    fillBox(context, plane, lane, middle - 0.6, plane.cell / 2 - 5 * plane.scale, 1.2, 10 * plane.scale);
    context.globalAlpha = 1;
    return;
  }
  const radius = Math.min(4.6 * plane.scale, Math.max(1.6, length * 0.42));
  const spent = (bits & ACKED_HERE) !== 0;
  const offset = plane.cell / 2;
  const word = MARKER_WORDS[markerKind(kind)];
  markAs(context, MARKS_OF_MARKERS[word] ?? null);
  glyph(context, word, xOf(plane, lane, middle, offset), yOf(plane, lane, middle, offset), radius, spent ? theme.ink.soft : theme.ink.proto, theme.ink.bg);
}

/**
 * Draws a log that is too long for single entries: per pixel the share of each origin, unacked in full colour, acked pale.
 * The shares come from `density`, which uses the page's cells and the server's tiles.
 * @param {(from: number, to: number) => import("../model/tiles.js").Shares | null} density
 */
export function drawShares(context, scene, lane, theme, density) {
  const { plane } = scene;
  const { strip, cursor, bits } = scene.lanes[lane.name];
  markAs(context, "shares");
  const step = Math.max(2, strip.unit_px);
  const begin = Math.max(plane.a0, plane.a1 - (strip.to - strip.from) * strip.unit_px);
  /** @type {[along: number, length: number][]} */
  const unknown = [];
  for (let along = begin; along < plane.a1; along += step) {
    const from = Math.max(strip.from, Math.floor(strip.to - (plane.a1 - along) / strip.unit_px));
    const to = Math.max(from + 1, Math.floor(strip.to - (plane.a1 - along - step) / strip.unit_px));
    const shares = isUnknown(bits, from - strip.from, to - strip.from) ? null : density(from, to);
    if (!shares) {
      unknown.push([along, step]);
      continue;
    }
    const done = bits.length ? doneShare(bits, from - strip.from, to - strip.from) : cursor && to - 1 <= cursor.mark_delete_index ? 1 : 0;
    let offset = 0;
    shares.origins.forEach((share, origin) => {
      for (const [part, colours] of [
        [done, theme.done],
        [1 - done, theme.origin],
      ]) {
        const breadth = share * part * plane.cell;
        context.fillStyle = colours[origin % ORIGINS];
        if (breadth > 0) fillBox(context, plane, lane, along, offset, step, breadth);
        offset += breadth;
      }
    });
  }
  hatch(context, plane, lane, unknown, theme);
}

function isUnknown(bits, from, to) {
  for (let at = from; at < Math.min(to, bits.length); at++) if (bits[at] & UNKNOWN) return true;
  return false;
}

function doneShare(bits, from, to) {
  let done = 0;
  for (let at = from; at < to; at++) done += bits[at] & ACKED ? 1 : 0;
  return done / Math.max(1, to - from);
}
