/**
 * The list of what happened, newest first: one line each, keyed by seq so that only new lines are made. Choosing one opens
 * "because…" under it and tells the page, which lights the instant and, for the owner, offers to go there.
 *
 * Rows that the branch has run beyond the instant stand above the others. The list is scrolled so that the newest row up to the instant is
 * in its upper third. Who scrolls it keeps that place until the lab is sought elsewhere.
 */

import { seconds } from "../model/format.js";
import { glyphOfRow, isToldElsewhere, wordsOfRow } from "../model/row_words.js";
import { foldedRuns } from "../model/row_runs.js";
import { element, putParts, required, setText } from "./dom.js";
import { prepared } from "./canvas.js";
import { glyph } from "./glyphs.js";

/** Lines in the page at once; older ones are asked for. */
const LINES = 220;
const AHEAD_LINES = 60;
const REDRAW_EVERY_MS = 200;
/** Part of the list's height that rows ahead of the instant may take. */
const AHEAD_PART = 1 / 3;
/** What a person does to scroll the list or to choose in it. */
const BY_HAND = ["wheel", "touchmove", "pointerdown", "keydown"];

const FILTERS = {
  protocol: (row) => (!row.type.startsWith("message.") || row.type === "message.held") && !isToldElsewhere(row),
  messages: (row) => row.type.startsWith("message."),
  all: () => true,
};

/**
 * @param {Document} document
 * @param {HTMLElement} root
 * @param {{onChoose: (row: object) => void, onFilter: () => void}} on
 */
export function makeEvents(document, root, on) {
  const list = required(root, "[data-part=events]");
  const tabs = [...root.querySelectorAll("[data-filter]")];
  const lines = new Map();
  /** @type {HTMLCanvasElement[]} marks of lines that have left: a canvas has memory of its own, which is freed late */
  const spare_marks = [];
  const nothing = element(document, "li.quiet", { text: "Nothing yet. Press play, or step." });
  let filter = "protocol";
  let drawn_ms = -Infinity;
  let drawn_rows = null;
  let drawn_ahead = null;
  let drawn_theme = "";
  let chosen_seq = null;
  let placed_in = null; // the epoch in which the list was last scrolled to the instant
  let left_to_reader = false;

  for (const name of BY_HAND) list.addEventListener(name, leaveToReader, { passive: true });

  function leaveToReader() {
    left_to_reader = true;
    list.classList.remove("follows"); // lines that come in above no longer move what is being read
  }

  /** Scrolls to the row of a story that is shown, else to the newest row up to the instant. */
  function place(epoch, newest_line) {
    if (epoch !== placed_in) left_to_reader = false;
    placed_in = epoch;
    if (left_to_reader || !newest_line) return;
    list.classList.add("follows");
    const line = list.querySelector("button.event.told")?.parentElement ?? newest_line;
    list.scrollTop = Math.max(0, line.offsetTop - list.offsetTop - list.clientHeight * AHEAD_PART); // the list alone, never the page
  }

  for (const tab of tabs) {
    tab.addEventListener("click", () => {
      filter = tab.dataset.filter;
      for (const other of tabs) other.setAttribute("aria-pressed", String(other === tab));
      drawn_rows = null;
      placed_in = null;
      on.onFilter();
    });
  }

  function lineOf(row, theme, ratio) {
    const mark = spare_marks.pop() ?? element(document, "canvas.mark", { "aria-hidden": "true" });
    const words = element(document, "span.words");
    putParts(document, words, wordsOfRow(row));
    words.append(element(document, "span.times.soft"));
    const line = element(document, "button.event", { type: "button", "data-seq": row.seq, onclick: () => on.onChoose(row) }, [element(document, "time", { text: seconds(row.at_us) }), mark, words]);
    const context = prepared(mark, 13, 13, ratio);
    const kind = glyphOfRow(row);
    glyph(context, kind, 6.5, 6.5, 4, kind === "cross" ? theme.ink.harm : theme.ink.proto, theme.ink.bg);
    return element(document, "li", {}, [line]);
  }

  function forget(seq) {
    spare_marks.push(lines.get(seq).querySelector("canvas.mark"));
    lines.delete(seq);
  }

  return {
    filter: () => filter,
    /**
     * @param {{rows: object[], ahead: object[]}} listed rows up to the instant, and those after it: dimmed, above the others
     * @param {number} epoch a new one begins with each seek
     * @returns {boolean} whether the list still owes a redraw
     */
    update({ rows, ahead }, epoch, theme, ratio, wall_ms) {
      if (rows === drawn_rows && ahead === drawn_ahead && theme.ink.bg === drawn_theme) return false;
      if (wall_ms - drawn_ms < REDRAW_EVERY_MS && drawn_rows !== null) return true;
      if (theme.ink.bg !== drawn_theme) [...lines.keys()].forEach(forget);
      drawn_theme = theme.ink.bg;
      drawn_rows = rows;
      drawn_ahead = ahead;
      drawn_ms = wall_ms;
      const later = foldedRuns(ahead.filter(FILTERS[filter])).slice(0, AHEAD_LINES);
      const wanted = [...foldedRuns(rows.filter(FILTERS[filter])).slice(-LINES), ...later].reverse();
      const now_at = later.length;
      const seqs = new Set(wanted.map(({ row }) => row.seq));
      for (const seq of [...lines.keys()]) if (!seqs.has(seq) && seq !== chosen_seq) forget(seq);
      const nodes = wanted.map(({ row, times }, at) => {
        if (!lines.has(row.seq)) lines.set(row.seq, lineOf(row, theme, ratio));
        const line = lines.get(row.seq);
        setText(line.querySelector(".times"), times > 1 ? ` ×${times}` : ""); // the same row stands for more or fewer as the list's ends move
        line.classList.toggle("ahead", at < now_at);
        return line;
      });
      syncChildren(list, nodes.length ? nodes : [nothing]);
      place(epoch, nodes[now_at] ?? nodes.at(-1));
      return false;
    },
    /** Marks the row of a story, and brings it into view when the list has it. @param {number | null} seq */
    show(seq) {
      for (const line of list.querySelectorAll("button.event")) line.classList.toggle("told", line.dataset.seq === String(seq));
      place(null, list.querySelector("button.event.told")?.parentElement);
    },
    /** Marks the lines of a lit cone. @param {Set<number> | null} seqs */
    light(seqs) {
      for (const [seq, line] of lines) line.classList.toggle("lit", seqs?.has(seq) ?? false);
    },
    /** Shows what a row rests on under its line. @param {Node | null} details */
    open(seq, details) {
      const before = lines.get(chosen_seq);
      before?.querySelector(".because")?.remove();
      before?.firstChild.removeAttribute("aria-expanded");
      chosen_seq = seq;
      const now = lines.get(seq);
      if (!now || !details) return;
      now.firstChild.setAttribute("aria-expanded", "true");
      now.append(details);
    },
    chosen: () => chosen_seq,
  };
}

/** Makes the list's children be `nodes` in order, moving as few as may be: the focus and the scroll place stay. */
function syncChildren(list, nodes) {
  const wanted = new Set(nodes);
  for (const child of [...list.children]) if (!wanted.has(child)) child.remove();
  let at = list.firstChild;
  for (const node of nodes) {
    if (node === at) at = at.nextSibling;
    else list.insertBefore(node, at);
  }
}
