/** The sentence above the columns and the table below them: the same figures as text and as numbers, at the instant shown. */

import { causesOf, duplicatesIn, figureOf, figuresAt, figureWords } from "../model/comparison.js";
import { causeWords } from "../model/cause_words.js";
import { bytes, seconds, whole } from "../model/format.js";
import { element, putParts, required, setText } from "../render/dom.js";
import { columnHeads, headCell } from "../render/terms.js";

/** What a move costs is marked as in a lab. */
const HARM = "harm-text";

export function makeNumbers({ document, root }, columns) {
  const table = required(root, "[data-part=table]");
  const sentence = required(root, "[data-part=sentence]");
  const causes = causesOf(columns);
  const { subscription, from, to, at_us: move_us } = columns[0].followed;
  const rows = [
    row("acknowledged", "", (now) => now.acknowledged),
    row(`acknowledged in ${to} too, up to the failover`, "", (now) => now.replicated),
    row("forecast duplicates of a move now", "", (now) => (now.moved ? null : now.forecast), HARM),
    row("duplicates", "strong", (now) => (now.moved ? (now.open ? figureWords(now) : figureOf(now)) : null), HARM),
    ...causes.map((cause) => row(causeWords(cause), "cause", (now) => (now.moved ? now.causes.get(cause) : null))),
    row("redelivered, not acknowledged before", "", (now) => (now.moved ? now.redelivered : null)),
    row("lost, in the whole run", "", (now, column) => (now.moved ? column.followed.messages.lost.filter(Boolean).length : null), HARM),
    row("markers in the logs, in the whole run", "", (now, column) => `${whole(column.costs.marker_entries)}, ${bytes(column.costs.marker_bytes)}`),
    ...(columns.some((column) => column.costs.requests) ? [row("requests, in the whole run", "", (now, column) => `${whole(column.costs.requests)}, ${bytes(column.costs.request_bytes)}`)] : []),
  ];
  const head = element(document, "tr", {}, [element(document, "td", {}), ...columnHeads(document, columns.map((column) => column.title))]);
  table.replaceChildren(element(document, "thead", {}, [head]), element(document, "tbody", {}, rows.map((one) => one.line)));

  /** @param {string} [mark] class of a cell whose value is not 0 */
  function row(words, kind, valueOf, mark = "") {
    const cells = columns.map(() => element(document, "td", {}));
    const line = element(document, kind ? `tr.${kind}` : "tr", {}, [headCell(document, "row", words), ...cells]);
    return { line, cells, valueOf, mark };
  }

  return {
    write(at_us) {
      const now = columns.map((column) => figuresAt(column, at_us));
      for (const { cells, valueOf, mark } of rows) {
        cells.forEach((cell, at) => {
          const value = valueOf(now[at], columns[at]);
          cell.className = value ? mark : "";
          setText(cell, value === null ? "–" : typeof value === "number" ? whole(value) : value);
        });
      }
      putParts(document, sentence, sentenceOf(now));
    },
  };

  function sentenceOf(now) {
    const begin = now[0].moved ? `Since the move to ${to} at ${seconds(move_us, 1)} s: ` : `If ${subscription} moved from ${from} to ${to} now: `;
    const of = now[0].moved ? ` of ${subscription}` : "";
    const mark = (one, text) => ({ [figureOf(one) === 0 && !one.open ? "strong" : "harm"]: text });
    const same = now.every((one) => figureWords(one) === figureWords(now[0]));
    const all = now.length === 2 ? ", in both" : ", in all";
    if (same) return [begin, mark(now[0], duplicatesIn(now[0])), `${of}${now.length > 1 ? all : ""}.`];
    const figures = now.flatMap((one, at) => [at === 0 ? "" : at === now.length - 1 ? " or " : ", ", mark(one, figureWords(one))]);
    return [begin, ...figures, ` duplicates${of}.`];
  }
}
