/**
 * The list of events, newest first: one line per row, cached by seq so that only new rows need new lines. Rows of one snapshot are listed
 * together under a heading with its result.
 * Choosing a row shows its causes under it and notifies the page, which highlights the row and seeks the owner's lab to it.
 *
 * Rows that the branch has after the instant shown are above the others. The list is scrolled so that the newest row up to the instant is
 * in its upper third. Once the viewer scrolls it, it keeps its position until the next seek.
 */

import { isDetail, isProtocolMessage } from "../model/row_words.js";
import { groupedRows } from "../model/event_groups.js";
import { allOf, element, found, required } from "./dom.js";
import { makeEventHeadings } from "./event_headings.js";
import { makeEventLines } from "./event_lines.js";

/** Number of lines in the page at once; older rows are requested when needed. */
const LINES = 220;
const AHEAD_LINES = 60;
const REDRAW_EVERY_MS = 200;
/** Share of the list's height for rows after the instant shown. */
const AHEAD_PART = 1 / 3;
/** Input events with which a viewer scrolls the list or chooses in it. */
const SCROLL_EVENTS = ["wheel", "touchmove", "pointerdown", "keydown"];

const FILTERS = {
  protocol: (row) => (!row.type.startsWith("message.") || isProtocolMessage(row)) && !isDetail(row),
  messages: (row) => row.type.startsWith("message."),
  all: () => true,
};

/**
 * @param {Document} document
 * @param {HTMLElement} root
 * @param {{onChoose: (row: object) => void, onFilter: () => void, wordsOfRow: (row: object, later: object[]) => Array<string | object>, wordsOfGroup: (key: string, later: object[]) => Array<string | object>}} on
 */
export function makeEvents(document, root, on) {
  const list = required(root, "[data-part=events]");
  const nothing = element(document, "li.quiet", { text: "Nothing yet. Press play, or step." });
  const lines = makeEventLines(document, on);
  const headings = makeEventHeadings(document, on.wordsOfGroup);
  const scroll = makeScroll(list);
  let drawn_ms = -Infinity;
  let drawn_rows = null;
  let drawn_ahead = null;
  let drawn_theme = "";
  let chosen_seq = null;
  const tabs = makeFilterTabs(root, () => {
    drawn_rows = null;
    scroll.forget();
    on.onFilter();
  });

  return {
    filter: tabs.chosen,
    /**
     * @param {{rows: object[], ahead: object[]}} listed rows up to the instant shown, and those after it, which are dimmed and above the others
     * @param {number} epoch changes with each seek
     * @returns {boolean} whether a further redraw is needed
     */
    update({ rows, ahead }, epoch, theme, ratio, wall_ms) {
      if (rows === drawn_rows && ahead === drawn_ahead && theme.ink.bg === drawn_theme) return false;
      if (wall_ms - drawn_ms < REDRAW_EVERY_MS && drawn_rows !== null) return true;
      if (theme.ink.bg !== drawn_theme) lines.forgetAll();
      [drawn_theme, drawn_rows, drawn_ahead, drawn_ms] = [theme.ink.bg, rows, ahead, wall_ms];
      const { nodes, newest } = listedNodes(groupsOf(rows, ahead, FILTERS[tabs.chosen()]), { lines, headings, chosen_seq, theme, ratio, ahead });
      syncChildren(list, nodes.length ? nodes : [nothing]);
      scroll.place(epoch, newest ?? nodes.at(-1));
      return false;
    },
    /** Marks the row of a story and scrolls to it if the list contains it. @param {number | null} seq */
    show(seq) {
      for (const line of allOf(list, "button.event")) line.classList.toggle("in-story", line.dataset.seq === String(seq));
      scroll.place(null, list.querySelector("button.event.in-story")?.parentElement);
    },
    /** Marks the lines of a highlighted cone. @param {Set<number> | null} seqs */
    light: lines.light,
    /** Shows the causes of a row under its line. @param {Node | null} details */
    open(seq, details) {
      const before = lines.get(chosen_seq);
      before?.querySelector(".because")?.remove();
      before?.querySelector("button").removeAttribute("aria-expanded");
      chosen_seq = seq;
      const now = lines.get(seq);
      if (!now || !details) return;
      now.querySelector("button").setAttribute("aria-expanded", "true");
      now.append(details);
    },
    chosen: () => chosen_seq,
  };
}

/** @returns {{later: import("../model/event_groups.js").EventGroup[], before: import("../model/event_groups.js").EventGroup[]}} the rows that the list has room for */
function groupsOf(rows, ahead, wanted) {
  return { later: groupedRows(ahead.filter(wanted), AHEAD_LINES, false), before: groupedRows(rows.filter(wanted), LINES, true) };
}

/** The headings and lines of the list, and the newest line up to the instant shown. */
function listedNodes({ later, before }, { lines, headings, chosen_seq, theme, ratio, ahead }) {
  const groups = [...later, ...before];
  const of_groups = lines.of(groups.map((group) => group.lines), later.length, chosen_seq, theme, ratio, ahead);
  headings.forgetOthers(groups);
  return { nodes: groups.flatMap(({ key }, at) => (key === null ? of_groups[at] : [headings.of(key, at < later.length, ahead), ...of_groups[at]])), newest: of_groups[later.length]?.[0] };
}

/** Scrolls the list: to the row of an open story, else to the newest row up to the instant, until the viewer scrolls it. */
function makeScroll(list) {
  let placed_in = null; // the epoch in which the list was last scrolled to the instant shown
  let left_to_reader = false;
  let at_top = false; // measuring the list again would force a layout
  for (const name of SCROLL_EVENTS) list.addEventListener(name, leaveToReader, { passive: true });

  function leaveToReader() {
    left_to_reader = true;
    at_top = false;
    list.classList.remove("follows"); // lines that are added above no longer move what is being read
  }

  return {
    place(epoch, newest_line) {
      if (epoch !== placed_in) left_to_reader = false;
      placed_in = epoch;
      if (left_to_reader || !newest_line) return;
      list.classList.add("follows");
      const story_line = found(list, "button.event.in-story")?.parentElement;
      const line = story_line ?? newest_line;
      const is_first = !story_line && (line === list.firstElementChild || line.previousElementSibling === list.firstElementChild); // perhaps under a heading
      if (is_first && at_top) return;
      at_top = is_first;
      list.scrollTop = Math.max(0, line.offsetTop - list.offsetTop - list.clientHeight * AHEAD_PART); // scrolls the list alone, never the page
    },
    /** Another list is shown: the next update scrolls to the instant shown. */
    forget() {
      placed_in = null;
      at_top = false;
    },
  };
}

/** The tabs that filter the listed rows. */
function makeFilterTabs(root, onChange) {
  const tabs = allOf(root, "[data-filter]");
  let filter = "protocol";
  for (const tab of tabs) {
    tab.addEventListener("click", () => {
      filter = tab.dataset.filter;
      for (const other of tabs) other.setAttribute("aria-pressed", String(other === tab));
      onChange();
    });
  }
  return { chosen: () => filter };
}

/** Makes the list's children equal `nodes` with as few moves as possible, so that focus and scroll position are kept. */
function syncChildren(list, nodes) {
  const wanted = new Set(nodes);
  for (const child of [...list.children]) if (!wanted.has(child)) child.remove();
  let at = list.firstChild;
  for (const node of nodes) {
    if (node === at) at = at.nextSibling;
    else list.insertBefore(node, at);
  }
}
