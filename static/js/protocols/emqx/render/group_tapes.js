/**
 * Draws a stream as a tape: the upper strip coloured by the leader's table, below it one strip for each reader.
 * Pale messages are acked, those in full colour are not. Messages that are delivered and not acked are taller. Below are the pins of four
 * cursors, and for each kind of crash a line over the messages that it would redeliver.
 */

import { whole } from "../../../model/format.js";
import { xAt } from "../layout/group_plane.js";
import { clientOf, countsOfFold, duplicatesOf, isDoubled, isOver, isUnread } from "../model/groups.js";
import { freeCell } from "../../../render/glyphs.js";
import { PRIORITY, drawLabels, makeMeasure, placeLabels } from "../../../render/labels.js";
import { markAs } from "../../../render/marks.js";
import { ORIGINS, fontOf } from "../../../render/theme.js";

/** Labels of a stream's tape: the redeliveries of each crash, and the names of its cursors. */

/** @returns {number} y below a tape's strips, px */
export function footOf(row) {
  return row.y + (1 + Math.max(1, row.tape.readers.length)) * (row.body + 1);
}

/** The redeliveries of each kind of crash, below the tape. */
export function crashLabels(row, theme, k, measure) {
  const { tape } = row;
  const height = theme.label + 3;
  const runs = [];
  if (tape.again.leader > 0) runs.push({ text: String(tape.again.leader), weight: 650, colour: "harm" }, { text: " redelivered if the leader crashes", weight: 400, colour: "harm" });
  if (tape.again.kill > 0) {
    if (runs.length > 0) runs.push({ text: ", ", weight: 400, colour: "harm" });
    runs.push({ text: String(tape.again.kill), weight: 650, colour: "harm" }, { text: ` if ${clientOf(tape.leader_entry.owner)} is killed`, weight: 400, colour: "harm" });
  }
  if (runs.length === 0) return [];
  const short = runs.filter(({ weight }) => weight === 650 || runs.length === 2);
  const place = (some) => {
    const width = measure(some);
    return { width, label: some, places: row.beside ? besideLines(row, width, k) : [{ x: Math.max(row.x0, Math.min(row.x1 - width, xAt(row, tape.committed))), y: footOf(row) + 20 * k }] };
  };
  return [{ priority: PRIORITY.harm, height, forms: [place(runs), ...(short.length < runs.length ? [place(short)] : [])] }];
}

/** Positions left and right of the lines of the crashes. */
function besideLines(row, width, k) {
  const { tape } = row;
  const left = Math.min(xAt(row, tape.committed), tape.leader_entry ? xAt(row, tape.leader_entry.position) : Infinity) - width - 8 * k;
  const right = xAt(row, tape.handed) + 8 * k;
  const y = footOf(row) + 6 * k;
  return [...(left >= row.x0 ? [{ x: left, y }] : []), ...(right + width <= row.x1 + row.room ? [{ x: right, y }] : [])];
}

/** How many messages of a tape are duplicates: at their bar, or at its beginning when they are before what is shown. */
export function duplicateLabels(row, theme, k, measure) {
  const count = duplicatesOf(row.tape);
  if (count === 0) return [];
  const shown = row.tape.duplicates.find(([, after]) => after > row.first);
  const runs = [{ text: whole(count), weight: 650, colour: "harm" }, { text: ` ${count === 1 ? "message" : "messages"} duplicated${shown ? "" : " before"}`, weight: 400, colour: "harm" }];
  const [height, width] = [theme.label + 3, measure(runs)];
  const x = Math.max(row.x0, Math.min(row.x1 - width, shown ? xAt(row, shown[0]) : row.x0));
  const places = [row.y - height - 5 * k, row.y - 2 * height - 5 * k].flatMap((y) => [{ x, y }, { x: Math.min(row.x1 - width, x + width), y }]);
  return [{ priority: PRIORITY.harm, height, forms: [{ width, label: runs, places }] }];
}

/** The names of the cursors, over the first tape with readers only; cursors at the same position share a label. */
export function cursorLabels(row, theme, k, measure) {
  const { tape } = row;
  const reader = tape.readers[0];
  const named = [
    ["committed", tape.committed, "ink"],
    ["reported", tape.leader_entry?.position, "proto"],
    ["acknowledged", reader.acknowledged, "ink"],
    ["delivered", reader.delivered, "ink"],
  ].filter(([, offset]) => offset !== undefined);
  const places = new Map();
  for (const [word, offset, colour] of named) {
    const x = Math.round(xAt(row, offset));
    places.set(x, [...(places.get(x) ?? []), { text: `${places.has(x) ? ", " : ""}${word}`, weight: 600, colour }]);
  }
  const height = theme.label + 3;
  const lines = [row.y - height - 2 * k, row.y - 2 * height - 2 * k];
  return [...places].map(([x, runs]) => {
    const width = measure(runs);
    return { priority: PRIORITY.cursor, height, forms: [{ width, label: runs, places: lines.flatMap((y) => [x - width / 2, x - 4, x - width + 4].map((left) => ({ x: Math.max(row.x0, left), y }))) }] };
  });
}

/** Narrower messages are drawn without gaps, px. */
const APART_PX = 4;

/**
 * @param {CanvasRenderingContext2D} context
 * @param {{rows: import("../layout/group_plane.js").TapeRow[], tall: boolean}} laid
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

/**
 * Draws many streams as strips: one for each shard and generation, or for each client.
 * A strip has a cell for each stream: the upper half in the hue of its owner in the leader's table, the lower half in that of its readers.
 */

/**
 * @param {CanvasRenderingContext2D} context
 * @param {{strips: import("../layout/group_plane.js").StripRow[], cell: number}} laid
 */
export function paintStrips(context, laid, theme, { width, scale: k, numbers, chosen, turned }) {
  context.textBaseline = "middle";
  const terse = laid.strips.length > 24;
  for (const row of laid.strips) {
    const { fold, x, y, height } = row;
    markAs(context, "text");
    context.textAlign = "right";
    context.font = fontOf(theme, theme.label, fold.key === chosen ? 700 : 400);
    context.fillStyle = fold.key === "no reader" ? theme.ink.harm : fold.key === chosen ? theme.ink.ink : theme.ink.ink2;
    context.fillText(fold.key, x - 7 * k, y + height / 2);
    fold.tapes.forEach((tape, at) => paintCell(context, tape, x + at * laid.cell, y, laid.cell, height, theme, numbers));
    if (!terse && !turned) totals(context, row, theme, x + row.width + 10 * k, width - (x + row.width + 10 * k));
  }
}

function paintCell(context, tape, x, y, cell, height, theme, numbers) {
  const half = height / 2;
  const width = Math.max(0.8, cell - (cell > 3 ? 0.8 : 0));
  const hue = (client) => (numbers.get(client) ?? 0) % ORIGINS;
  const pick = (client, behind) => (behind ? theme.origin : theme.done)[hue(client)];
  const owner = tape.leader_entry?.owner;
  markAs(context, "strip-cell");
  context.fillStyle = owner ? pick(clientOf(owner), tape.leader_entry.position < tape.length) : theme.ink.line;
  context.fillRect(x, y, width, half - 0.5);
  const readers = tape.readers.length;
  if (readers === 0) {
    markAs(context, isOver(tape) ? "strip-cell" : "no-reader");
    context.fillStyle = isOver(tape) ? theme.ink.line : theme.ink.harm;
    context.fillRect(x, y + height - 2, width, 2);
  }
  markAs(context, "strip-cell");
  tape.readers.forEach((reader, at) => {
    context.fillStyle = pick(reader.client, reader.acknowledged < tape.length);
    context.fillRect(x, y + half + (at * half) / readers, width, half / readers);
  });
  if (duplicatesOf(tape) > 0) {
    markAs(context, "duplicates-actual");
    context.fillStyle = theme.ink.harm;
    context.fillRect(x, y - 3, width, 2);
  }
  if (isDoubled(tape)) {
    markAs(context, "two-readers");
    context.fillStyle = theme.ink.harm;
    context.fillRect(x, y + height + 1, width, 1.5);
    context.fillRect(x, y + height + 3.5, width, 1.5);
  }
}

/** The counts of a strip beside it, in the longest form that fits: harm first, all of them are in the strip's description. */
function totals(context, { fold, y, height }, theme, x, room) {
  const [whole_count, ...harm] = countsOfFold(fold);
  markAs(context, "text");
  context.textAlign = "left";
  context.font = fontOf(theme, theme.label, 400);
  const fits = (runs) => context.measureText(runs.map(([text]) => text).join(", ")).width <= room;
  const short = harm.map(([, text]) => [text]);
  const forms = [[whole_count, ...harm], [whole_count, ...short], short, ...short.map((_, at) => short.slice(0, -1 - at))];
  const runs = forms.find((form) => form.length > 0 && fits(form)) ?? [];
  let at = x;
  runs.forEach((run, place) => {
    const label = place ? `, ${run[0]}` : run[0];
    context.fillStyle = run === whole_count ? theme.ink.ink2 : theme.ink.harm;
    context.fillText(label, at, y + height / 2);
    at += context.measureText(label).width;
  });
}

/** @returns {import("../model/groups.js").Tape[]} the most interesting ones: duplicates first, then two readers, then unread, then by redeliveries */
export function mostNotable(tapes, most) {
  const weight = (tape) => (duplicatesOf(tape) ? 1e12 : 0) + (isDoubled(tape) ? 1e9 : 0) + (isUnread(tape) ? 1e6 : 0) + tape.again.leader;
  return tapes.map((tape, at) => ({ tape, at })).sort((a, b) => weight(b.tape) - weight(a.tape) || a.at - b.at).slice(0, most).map(({ tape }) => tape);
}
