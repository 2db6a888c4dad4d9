/** The sentence above the columns and the table below them: the same figures as text and as numbers, at the instant shown. */

import { causesOf, figureOf, figuresAt, figureWords } from "../model/comparison.js";
import { causeWords } from "../model/cause_words.js";
import { bytes, seconds, whole } from "../model/format.js";
import { element, putParts, required, setText } from "../render/dom.js";
import { columnHeads, headCell } from "../render/terms.js";

export function makeNumbers({ document, root }, columns) {
  const table = required(root, "[data-part=table]");
  const sentence = required(root, "[data-part=sentence]");
  const causes = causesOf(columns);
  const { subscription, from, to, at_us: move_us } = columns[0].followed;
  const rows = [
    row("acknowledged", "", (now) => now.acknowledged),
    row(`acknowledged in ${to} too, up to the failover`, "", (now) => now.replicated),
    row("forecast duplicates of a move now", "", (now) => (now.moved ? null : now.unreplicated)),
    row("duplicates", "harm", (now) => (now.moved ? figureWords(now) : null)),
    ...causes.map((cause) => row(causeWords(cause), "cause", (now) => (now.moved ? now.causes.get(cause) : null))),
    row("redelivered, not acknowledged before", "", (now) => (now.moved ? now.redelivered : null)),
    row("lost, in the whole run", "", (now, column) => (now.moved ? column.followed.messages.lost.filter(Boolean).length : null)),
    row("markers in the logs, in the whole run", "", (now, column) => `${whole(column.costs.marker_entries)}, ${bytes(column.costs.marker_bytes)}`),
    ...(columns.some((column) => column.costs.requests) ? [row("requests, in the whole run", "", (now, column) => `${whole(column.costs.requests)}, ${bytes(column.costs.request_bytes)}`)] : []),
  ];
  const head = element(document, "tr", {}, [element(document, "td", {}), ...columnHeads(document, columns.map((column) => column.title))]);
  table.replaceChildren(element(document, "thead", {}, [head]), element(document, "tbody", {}, rows.map((one) => one.line)));

  function row(words, kind, valueOf) {
    const cells = columns.map(() => element(document, "td", {}));
    const line = element(document, kind ? `tr.${kind}` : "tr", {}, [headCell(document, "row", words), ...cells]);
    return { line, cells, valueOf };
  }

  return {
    write(at_us) {
      const now = columns.map((column) => figuresAt(column, at_us));
      for (const { cells, valueOf } of rows) {
        cells.forEach((cell, at) => {
          const value = valueOf(now[at], columns[at]);
          setText(cell, value === null ? "–" : typeof value === "number" ? whole(value) : value);
        });
      }
      putParts(document, sentence, sentenceOf(now));
    },
  };

  function sentenceOf(now) {
    const figures = now.flatMap((one, at) => [at === 0 ? "" : at === now.length - 1 ? " or " : ", ", { [one.moved ? "harm" : "strong"]: figureWords(one) }]);
    const same = now.length === 2 && figureOf(now[0]) === figureOf(now[1]);
    if (same && now[0].moved) return [`Since the move to ${to} at ${seconds(move_us, 1)} s: `, { harm: figureWords(now[0]) }, ` duplicates of ${subscription}, in both.`];
    if (!now[0].moved) return [`If ${subscription} moved from ${from} to ${to} now: `, ...figures, " duplicates."];
    return [`Since the move to ${to} at ${seconds(move_us, 1)} s: `, ...figures, ` duplicates of ${subscription}.`];
  }
}
