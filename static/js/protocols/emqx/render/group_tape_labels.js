/** Labels of a stream's tape: the redeliveries of each crash, and the names of its cursors. */

import { xAt } from "../layout/group_tapes.js";
import { PRIORITY } from "../../../render/labels.js";
import { whole } from "../../../model/format.js";
import { clientOf, duplicatesOf } from "../model/groups.js";

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
