/** The list of events: rows of data that frames do not contain, and the chain of causes under a chosen row. */

import { glyphOfRow, groupedRows, isDetail, isProtocolMessage, wordsOfRow as wordsInList } from "../model/event_rows.js";
import { seconds } from "../model/format.js";
import { protocolOf } from "../protocols/table.js";
import { prepared } from "../render/canvas.js";
import { allOf, element, found, putParts, required, setText } from "../render/dom.js";
import { glyph } from "../render/glyphs.js";

/** The causes of a row of the list: the chain back to its root, requested from the server and shown under the row. */

/** Number of causes shown; the root is always among them. */
const SHOWN = 7;

/**
 * @param {Document} document
 * @param {object} answer of `/labs/<id>/row/<seq>.json`: `row`, and its causes nearest first
 * @param {(row: object) => Array<string | object>} wordsOfRow
 * @param {{says: string, act: () => void}[]} acts_of_row actions that are offered for the row
 */
export function causeNodes(document, answer, wordsOfRow, acts_of_row) {
  const row = answer.row ?? answer;
  const causes = (answer.causes ?? []).filter((one) => one.seq !== row.seq);
  const shown = causes.length > SHOWN ? [...causes.slice(0, SHOWN - 1), causes[causes.length - 1]] : causes;
  const lines = shown.map((cause) => {
    const words = element(document, "span");
    putParts(document, words, wordsOfRow(cause));
    return element(document, "li", {}, [element(document, "time", { text: seconds(cause.at_us) }), words]);
  });
  const acts = acts_of_row.map(({ says, act }) => element(document, "button.plain", { type: "button", text: says, onclick: act }));
  return element(document, "div.because", {}, [
    causes.length ? element(document, "b", { text: "caused by" }) : element(document, "span.quiet", { text: "No earlier cause." }),
    element(document, "ol", {}, lines),
    element(document, "p.acts", {}, acts),
  ]);
}

/** The headings of the groups in the list of events, kept while their group is listed. */

/**
 * @param {Document} document
 * @param {(key: string, later: object[]) => Array<string | object>} wordsOfGroup the heading of a group; `later`: rows after the instant shown, for a group of them
 */
export function makeEventHeadings(document, wordsOfGroup) {
  /** @type {Map<string, {node: HTMLElement, shown: string}>} */
  const headings = new Map();

  return {
    of(key, ahead, later) {
      const name = `${ahead}|${key}`;
      if (!headings.has(name)) headings.set(name, { node: element(document, ahead ? "li.event-group.ahead" : "li.event-group"), shown: "" });
      const heading = headings.get(name);
      const words = wordsOfGroup(key, ahead ? later : []);
      const shown = JSON.stringify(words);
      if (shown !== heading.shown) putParts(document, heading.node, words);
      heading.shown = shown;
      return heading.node;
    },
    /** @param {{key: string | null}[]} groups that are listed */
    forgetOthers(groups) {
      const keys = new Set(groups.map(({ key }) => key));
      for (const name of [...headings.keys()]) if (!keys.has(name.slice(name.indexOf("|") + 1))) headings.delete(name);
    },
  };
}

/** The lines of the list of events, one per row, cached by seq so that only new rows need new lines. */

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

/**
 * The list of events, newest first: one line per row, cached by seq so that only new rows need new lines. Rows of one snapshot are listed
 * together under a heading with its result.
 * Choosing a row shows its causes under it and notifies the page, which highlights the row and seeks the owner's lab to it.
 *
 * Rows that the branch has after the instant shown are above the others. The list is scrolled so that the newest row up to the instant is
 * in its upper third. Once the viewer scrolls it, it keeps its position until the next seek.
 */

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

/** @returns {{later: import("../model/event_rows.js").EventGroup[], before: import("../model/event_rows.js").EventGroup[]}} the rows that the list has room for */
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

/**
 * The rows of the event list: those around the instant shown, as the server returns them.
 * The list is therefore the same for every viewer at this instant. During playback, the rows of frames are added to the last answer.
 */

/** Shortest time between two requests while the lab plays at an instant that the branch has already passed, ms. */
const ASK_EVERY_MS = 700;

/** @typedef {{rows: object[], ahead: object[]}} Listed rows before the instant and after it, by ascending seq */

/**
 * @param {object} parts
 * @param {(path: string) => Promise<object>} parts.get
 * @param {string} parts.base path of the lab, ending in "/"
 * @param {() => void} parts.onAnswer
 */
export function makeEventWindow({ get, base, onAnswer }) {
  let held = null; // the newest answer: {branch, seq, rows_from, rows, ahead}, and the key of the state for which it was requested
  let asked = "";
  let asked_ms = -Infinity;
  let made = { state: null, held: null, listed: { rows: [], ahead: [] } };

  function ask(key, wall_ms) {
    asked = key;
    asked_ms = wall_ms;
    get(`${base}events.json`)
      .then((answer) => {
        if (asked === key) held = { ...answer, key };
      })
      .catch(() => {
        asked = ""; // the lab seeks or the connection is lost: the next drawing requests it again
      })
      .finally(onAnswer);
  }

  return {
    /** @returns {Listed} the same object while nothing has changed */
    of(state, wall_ms) {
      const { view } = state;
      const key = [view.branch, view.seq, view.furthest_us].join("|");
      const behind = state.at_us < view.furthest_us;
      const missing = held?.branch !== view.branch || (behind && !rowsAfter(held.ahead, view.seq).length);
      const due = state.playing ? missing && wall_ms - asked_ms >= ASK_EVERY_MS : key !== asked;
      if (due) ask(key, wall_ms);
      if (made.state !== state || made.held !== held) made = { state, held, listed: listedOf(state, held, key) };
      return made.listed;
    },
  };
}

/** @returns {Listed} */
export function listedOf(state, held, key) {
  const { branch, seq } = state.view;
  if (held?.branch !== branch) return { rows: state.rows, ahead: [] };
  if (held.key === key && held.seq === seq) return { rows: held.rows, ahead: held.ahead };
  const known = [...held.rows, ...held.ahead];
  const known_to = Math.max(held.seq, (held.ahead.at(-1)?.seq ?? -1) + 1);
  const before = known.filter((row) => row.seq < Math.min(seq, state.rows_from));
  const joined = held.rows_from <= state.rows_from && state.rows_from <= known_to;
  return { rows: joined ? [...before, ...state.rows] : state.rows, ahead: rowsAfter(known, seq) };
}

const rowsAfter = (rows, seq) => rows.filter((row) => row.seq >= seq);

/** Number of data rows requested at once for the tabs that show messages. */
const FETCHED = 400;
const NONE = [];

/** Texts of the list: a line need not name the thing that the heading above it names. */
const wordsOfList = (getState) => ({
  wordsOfRow: (row, later) => wordsInList(row, { ...getState(), under_heading: true }, later),
  wordsOfGroup: (key, later) => protocolOf(getState()).wordsOfGroup?.(key, getState(), later) ?? [],
});

export function makeEventPanel({ document, root, link, requests, base, getState, say, actsOfRow, wordsOfRow, lights, wake }) {
  const list = makeEvents(document, root, { onChoose: choose, onFilter: wake, ...wordsOfList(getState) });
  const box = required(root, "[data-part=events]");
  const window_of = makeEventWindow({ get: requests.get, base, onAnswer: wake });
  let data = { seq: -1, rows: [], asking: false };

  /** Opens a row: the diagram seeks to its instant, the list shows its causes. */
  async function choose(row) {
    if (list.chosen() === row.seq) {
      list.open(null, null);
      lights.clear();
      return;
    }
    lights.row(row.seq);
    try {
      const owner = getState().welcome?.owner === true;
      if (owner && getState().playing) link.pause();
      if (owner) link.seekSeq(row.seq); // a viewer cannot seek: only the causes are shown
      const answer = await requests.get(`${base}row/${row.seq}.json`);
      list.open(row.seq, causeNodes(document, answer, wordsOfRow, actsOfRow(answer.row ?? answer)));
    } catch (reason) {
      say({ error: reason.message, hint: reason.hint });
    }
  }

  /** Frames contain control rows only. The other tabs request the newest data rows when the lab is paused. */
  async function fetchData(seq) {
    data = { ...data, asking: true };
    try {
      const answer = await requests.get(`${base}rows.json?first=${Math.max(0, seq - FETCHED)}&last=${seq}&control=0&limit=${FETCHED}`);
      data = { seq, rows: answer.rows, asking: false };
    } catch (reason) {
      data = { seq, rows: [], asking: false };
      say({ error: reason.message, hint: reason.hint });
    }
    wake();
  }

  function move(by) {
    const buttons = allOf(box, "button.event");
    if (buttons.length === 0) return;
    const at = buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    buttons[Math.max(0, Math.min(buttons.length - 1, at + by))].focus();
  }

  return {
    show: list.show,
    acts: { olderEvent: () => move(1), newerEvent: () => move(-1), toEvents: () => (found(box, "button.event") ?? box).focus() },
    update(state, theme, ratio, wall_ms) {
      const seq = state.view.seq;
      const protocol = list.filter() === "protocol";
      if (!protocol && !state.playing && data.seq !== seq && !data.asking) fetchData(seq);
      const owed = list.update(protocol ? window_of.of(state, wall_ms) : { rows: data.rows, ahead: NONE }, state.epoch, theme, ratio, wall_ms);
      list.light(lights.now()?.seqs ?? null);
      return owed;
    },
  };
}
