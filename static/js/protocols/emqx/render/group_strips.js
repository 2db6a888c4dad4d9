/**
 * Draws many streams as strips: one for each shard and generation, or for each client.
 * A strip has a cell for each stream: the upper half in the hue of its owner in the leader's table, the lower half in that of its readers.
 */

import { clientOf, countsOfFold, duplicatesOf, isDoubled, isOver, isUnread } from "../model/groups.js";
import { markAs } from "../../../render/marks.js";
import { fontOf, ORIGINS } from "../../../render/theme.js";

/**
 * @param {CanvasRenderingContext2D} context
 * @param {{strips: import("../layout/group_tapes.js").StripRow[], cell: number}} laid
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
