/**
 * Draws a stream as a tape: the upper strip coloured by the leader's table, below it one strip for each reader.
 * Pale messages are acked, those in full colour are not. Messages that are delivered and not acked are taller. Below are the pins of four
 * cursors, and for each kind of crash a line over the messages that it would redeliver.
 */

import { xAt } from "../layout/group_tapes.js";
import { drawLabels, makeMeasure, placeLabels } from "../../../render/labels.js";
import { clientOf, isDoubled, isOver } from "../model/groups.js";
import { freeCell } from "../../../render/glyphs.js";
import { crashLabels, cursorLabels, duplicateLabels, footOf } from "./group_tape_labels.js";
import { markAs } from "../../../render/marks.js";
import { fontOf, ORIGINS } from "../../../render/theme.js";

/** Narrower messages are drawn without gaps, px. */
const APART_PX = 4;

/**
 * @param {CanvasRenderingContext2D} context
 * @param {{rows: import("../layout/group_tapes.js").TapeRow[], tall: boolean}} laid
 * @param {any} theme
 * @param {object} given
 * @param {number} given.width
 * @param {number} given.height
 * @param {number} given.scale
 * @param {boolean} given.turned
 * @param {Map<string, number>} given.numbers index of each client, for its hue
 * @param {string | null} [given.chosen] the client that is chosen
 * @param {object[]} [given.taken] boxes that labels keep clear of
 */
export function paintTapes(context, laid, theme, { width, height, scale: k, turned, numbers, chosen, taken = [] }) {
  const asked = [];
  const measure = makeMeasure(context, theme);
  for (const row of laid.rows) {
    markAs(context, null);
    paintTape(context, row, theme, k, numbers);
    paintEnds(context, row, theme, { k, turned, numbers });
    if (row.tape.name === chosen) outline(context, row, theme);
    if (!laid.tall || isOver(row.tape)) continue;
    paintCrashes(context, row, theme, k);
    asked.push(...crashLabels(row, theme, k, measure), ...duplicateLabels(row, theme, k, measure));
  }
  const first = laid.tall ? laid.rows.find(({ tape }) => tape.readers.length > 0 && !isOver(tape)) : null;
  if (first) asked.push(...cursorLabels(first, theme, k, measure));
  drawLabels(context, placeLabels(asked, { width, height }, taken), theme, measure);
}

const hueOf = (numbers, client) => (numbers.get(client) ?? 0) % ORIGINS;

function paintTape(context, row, theme, k, numbers) {
  const { tape, y, body } = row;
  const owner = tape.leader_entry?.owner ? clientOf(tape.leader_entry.owner) : null;
  strip(context, row, theme, { y, hue: owner === null ? null : hueOf(numbers, owner), done: tape.leader_entry?.position ?? tape.committed });
  tape.readers.forEach((reader, at) => {
    strip(context, row, theme, { y: y + (at + 1) * (body + 1), hue: hueOf(numbers, reader.client), done: reader.acknowledged, held: reader.delivered, raise: 3 * k, fading: reader.lease === "absent" });
  });
  if (tape.readers.length === 0) strip(context, row, theme, { y: y + body + 1, hue: null, done: tape.committed });
  if (isDoubled(tape)) doubled(context, row, theme, k);
  repeated(context, row, theme, k);
  cursors(context, row, theme, k);
}

/** Draws one strip of a tape. Without a hue (unassigned) it is a dashed outline. */
function strip(context, row, theme, { y, hue, done, held = done, raise = 0, fading = false }) {
  const { tape, body, unit_px } = row;
  const [start, end] = [xAt(row, row.first), xAt(row, tape.length)];
  if (hue === null) {
    outlineUnassigned(context, start, y, end - start, body, theme);
    return;
  }
  const [read, unacked] = [xAt(row, done), xAt(row, held)];
  context.globalAlpha = fading ? 0.55 : 1;
  markAs(context, "acked");
  context.fillStyle = theme.done[hue];
  context.fillRect(start, y, read - start, body);
  markAs(context, "not-acked");
  context.fillStyle = theme.origin[hue];
  context.fillRect(unacked, y, end - unacked, body);
  markAs(context, "delivered-not-acked");
  if (unacked > read) context.fillRect(read, y, unacked - read, body + raise);
  context.globalAlpha = 1;
  if (unit_px < APART_PX) return;
  markAs(context, "axis"); // gaps between messages
  context.fillStyle = theme.ink.bg;
  for (let offset = row.first + 1; offset < tape.length; offset++) {
    const x = xAt(row, offset);
    if (x >= end) break;
    context.fillRect(x - 0.8, y, 0.8, body + raise);
  }
}

function outlineUnassigned(context, x, y, width, height, theme) {
  markAs(context, "unassigned");
  context.save();
  context.strokeStyle = theme.ink.strong;
  context.lineWidth = 1;
  context.setLineDash([2, 3]);
  context.strokeRect(x + 0.5, y + 0.5, Math.max(0, width - 1), height - 1);
  context.restore();
}

/** Duplicates: a full bar over the messages that were delivered after an acknowledgement, as in logs. */
function repeated(context, row, theme, k) {
  markAs(context, "duplicates-actual");
  context.fillStyle = theme.ink.harm;
  for (const [first, after] of row.tape.duplicates) {
    if (after <= row.first) continue;
    const x = xAt(row, first);
    context.fillRect(x, row.y - 4 * k, Math.max(2, xAt(row, after) - x), 3 * k);
  }
}

/** Two readers: a double line in the colour of harm beside their strips, as for duplicates. */
function doubled(context, row, theme, k) {
  const top = row.y + row.body + 1;
  const height = row.tape.readers.length * (row.body + 1) - 1;
  const x = xAt(row, row.tape.length);
  markAs(context, "two-readers");
  context.fillStyle = theme.ink.harm;
  context.fillRect(x + 3 * k, top, 2 * k, height);
  context.fillRect(x + 7 * k, top, 2 * k, height);
}

/** Committed: a full pin; reported: a pin in the protocol's ink; acknowledged: a tick; delivered: an open pin. */
function cursors(context, row, theme, k) {
  const { tape } = row;
  const y = footOf(row);
  const size = (row.body < 8 * k ? 4.5 : 6) * k;
  const at = (offset) => xAt(row, offset);
  for (const reader of tape.readers) {
    markAs(context, "delivered");
    triangle(context, at(reader.delivered), y, size, theme.ink.ink, theme.ink.bg);
    markAs(context, "acknowledged");
    context.fillStyle = theme.ink.ink;
    context.fillRect(at(reader.acknowledged) - 0.8, y, 1.6, size + 1);
  }
  markAs(context, "reported");
  if (tape.leader_entry) triangle(context, at(tape.leader_entry.position), y, size, theme.ink.proto, theme.ink.proto);
  markAs(context, "committed");
  triangle(context, at(tape.committed), y, size, theme.ink.ink, theme.ink.ink);
}

function triangle(context, x, y, size, stroke, fill) {
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x + size * 0.62, y + size);
  context.lineTo(x - size * 0.62, y + size);
  context.closePath();
  context.fillStyle = fill;
  context.fill();
  context.strokeStyle = stroke;
  context.lineWidth = 1.2;
  context.stroke();
}

/** Redeliveries: a double line from the committed position for a leader's crash, a single line from the reported one for the end of its reader. */
function paintCrashes(context, row, theme, k) {
  const { tape } = row;
  const y = footOf(row) + 9 * k;
  context.fillStyle = theme.ink.harm;
  if (tape.again.kill > 0) {
    markAs(context, "redelivered-client");
    const x = xAt(row, tape.leader_entry.position);
    context.fillRect(x, y, Math.max(2, xAt(row, tape.leader_entry.position + tape.again.kill) - x), 1.6 * k);
  }
  if (tape.again.leader > 0) {
    markAs(context, "redelivered-leader");
    const x = xAt(row, tape.committed);
    const length = Math.max(2, xAt(row, tape.handed) - x);
    context.fillRect(x, y + 4.5 * k, length, 1.3 * k);
    context.fillRect(x, y + 7.3 * k, length, 1.3 * k);
  }
}

/** Draws the owner's swatch at the left and the readers with swatches at the right, since hue alone is not enough. Names at the left are buttons over the canvas. */
function paintEnds(context, row, theme, { k, turned, numbers }) {
  if (turned) return;
  const { tape, y, body, x1 } = row;
  const swatch = (client, x, middle) => {
    markAs(context, "client-of-stream");
    freeCell(context, hueOf(numbers, client), x, middle, 8 * k, 11 * k, theme.origin[hueOf(numbers, client)], theme.ink.bg);
    markAs(context, "text");
  };
  if (tape.leader_entry?.owner) swatch(clientOf(tape.leader_entry.owner), row.x0 - 10 * k, y + body / 2);
  context.font = fontOf(theme, theme.label, 400);
  context.textAlign = "left";
  context.textBaseline = "middle";
  tape.readers.forEach((reader, at) => {
    const middle = y + (at + 1) * (body + 1) + body / 2;
    swatch(reader.client, x1 + 18 * k, middle);
    const starved = tape.leader_entry?.starved && reader.id === tape.leader_entry.owner;
    context.fillStyle = isDoubled(tape) || starved ? theme.ink.harm : theme.ink.ink2;
    const whole = `${reader.client}${starved ? ", not reading" : WORDS[reader.lease]}`;
    const fits = context.measureText(whole).width <= row.room - 26 * k;
    context.fillText(fits ? whole : reader.client, x1 + 26 * k, middle); // the colour shows the state, too, and the headline describes it
  });
  if (tape.readers.length > 0 || isOver(tape)) return;
  markAs(context, "text");
  context.fillStyle = theme.ink.harm;
  context.fillText("no client", x1 + 12 * k, y + body + 1 + body / 2);
}

const WORDS = { granted: "", revoking: " revoking", absent: " finishing" };

function outline(context, row, theme) {
  markAs(context, "chosen");
  context.strokeStyle = theme.ink.ink;
  context.lineWidth = 1.4;
  context.strokeRect(row.x0 - 3, row.y - 3, row.x1 - row.x0 + 6, footOf(row) - row.y + 6);
}
