/** The lines of the list of events, one per row, cached by seq so that only new rows need new lines. */

import { seconds } from "../model/format.js";
import { glyphOfRow } from "../model/row_words.js";
import { element, putParts, required, setText } from "./dom.js";
import { prepared } from "./canvas.js";
import { glyph } from "./glyphs.js";

/** Size of a line's mark and radius of the glyph in it, px. */
const MARK_PX = 13;
const GLYPH_RADIUS_PX = 4;

/**
 * @param {Document} document
 * @param {{onChoose: (row: object) => void, wordsOfRow: (row: object, later: object[]) => Array<string | object>}} given
 */
export function makeEventLines(document, { onChoose, wordsOfRow }) {
  /** @type {Map<number, HTMLLIElement>} */
  const lines = new Map();
  /** @type {HTMLCanvasElement[]} marks of removed lines, for reuse: a canvas has memory of its own, which is freed late */
  const spare_marks = [];
  let is_lit = false;

  function lineOf(row, theme, ratio, later) {
    const mark = spare_marks.pop() ?? element(document, "canvas.mark", { "aria-hidden": "true" });
    const words = element(document, "span.words");
    putParts(document, words, wordsOfRow(row, later));
    words.append(element(document, "span.times.soft"));
    const line = element(document, "button.event", { type: "button", "data-seq": row.seq, onclick: () => onChoose(row) }, [element(document, "time", { text: seconds(row.at_us) }), mark, words]);
    const context = prepared(mark, MARK_PX, MARK_PX, ratio);
    const kind = glyphOfRow(row);
    glyph(context, kind, MARK_PX / 2, MARK_PX / 2, GLYPH_RADIUS_PX, kind === "cross" ? theme.ink.harm : theme.ink.proto, theme.ink.bg);
    return element(document, "li", {}, [line]);
  }

  function updated({ row, times }, is_ahead, theme, ratio, later) {
    if (!lines.has(row.seq)) lines.set(row.seq, lineOf(row, theme, ratio, later));
    const line = lines.get(row.seq);
    setText(line.querySelector(".times"), times > 1 ? ` ×${times}` : ""); // the number of rows that a line represents changes with the ends of the list
    line.classList.toggle("ahead", is_ahead);
    return line;
  }

  function forget(seq) {
    spare_marks.push(required(lines.get(seq), "canvas.mark"));
    lines.delete(seq);
  }

  return {
    get: (seq) => lines.get(seq),
    forgetAll: () => [...lines.keys()].forEach(forget),
    /**
     * The lines of these rows. Cached lines of other rows are dropped, except the chosen one.
     * @param {{row: any, times: number}[][]} wanted by group, newest first
     * @param {number} ahead how many of the groups are after the instant shown
     * @param {number | null} chosen_seq
     * @param {object[]} later all rows after the instant shown
     */
    of(wanted, ahead, chosen_seq, theme, ratio, later) {
      const seqs = new Set(wanted.flatMap((group) => group.map(({ row }) => row.seq)));
      for (const seq of [...lines.keys()]) if (!seqs.has(seq) && seq !== chosen_seq) forget(seq);
      return wanted.map((group, at) => group.map((one) => updated(one, at < ahead, theme, ratio, later)));
    },
    /** Marks the lines of these rows. @param {Set<number> | null} seqs */
    light(seqs) {
      if (seqs === null && !is_lit) return;
      is_lit = seqs !== null;
      for (const [seq, line] of lines) line.classList.toggle("lit", seqs?.has(seq) ?? false);
    },
  };
}
