/**
 * Draws many streams as strips: one for each shard and generation, or for each client.
 * A strip has a cell for each stream: the upper half in the hue of its owner in the leader's table, the lower half in that of its readers.
 */

import { clientOf, isDoubled, isOver, isUnread } from "../model/groups.js";
import { whole } from "../../../model/format.js";
import { markAs } from "../../../render/marks.js";
import { fontOf, ORIGINS } from "../../../render/theme.js";

/**
 * @param {CanvasRenderingContext2D} context
 * @param {{strips: import("../layout/group_tapes.js").StripRow[], cell: number}} laid
 */
export function paintStrips(context, laid, theme, { scale: k, numbers, chosen, turned }) {
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
    if (!terse && !turned) totals(context, row, theme, k, x + row.width + 10 * k);
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
  if (isDoubled(tape)) {
    markAs(context, "two-readers");
    context.fillStyle = theme.ink.harm;
    context.fillRect(x, y + height + 1, width, 1.5);
    context.fillRect(x, y + height + 3.5, width, 1.5);
  }
}

function totals(context, { fold, y, height }, theme, k, x) {
  const runs = [[`${whole(fold.tapes.length)} streams`, theme.ink.ink2]];
  if (fold.unread) runs.push([`${whole(fold.unread)} without a reader`, theme.ink.harm]);
  if (fold.doubled) runs.push([`${whole(fold.doubled)} with two readers`, theme.ink.harm]);
  if (fold.again.leader) runs.push([`${whole(fold.again.leader)} redelivered if the leader crashes`, theme.ink.harm]);
  markAs(context, "text");
  context.textAlign = "left";
  context.font = fontOf(theme, theme.label, 400);
  let at = x;
  runs.slice(0, 3).forEach(([text, colour], place) => {
    const label = place ? `, ${text}` : text;
    context.fillStyle = colour;
    context.fillText(label, at, y + height / 2);
    at += context.measureText(label).width;
  });
}

/** @returns {import("../model/groups.js").Tape[]} the most interesting ones: two readers first, then unread, then by redeliveries */
export function mostNotable(tapes, most) {
  const weight = (tape) => (isDoubled(tape) ? 1e9 : 0) + (isUnread(tape) ? 1e6 : 0) + tape.again.leader;
  return tapes.map((tape, at) => ({ tape, at })).sort((a, b) => weight(b.tape) - weight(a.tape) || a.at - b.at).slice(0, most).map(({ tape }) => tape);
}
