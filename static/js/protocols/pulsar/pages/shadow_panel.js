/**
 * The panel “Shadow topics”: one set of ledgers and the topics that read it, on one axis, with their figures.
 * The figures are storage saved, entries visible, messages lost, and where reads were served. All of it is in the frames, so nothing is
 * requested from the server.
 */

import { bytes, counted, span, whole } from "../../../model/format.js";
import { fedBy, isBlind, readsInAll, savedBytes, sharedLedgers, sourceWatched, sourcesOf } from "../model/shadows.js";
import { element, setText } from "../../../render/dom.js";
import { columnHeads, renew } from "../../../render/terms.js";

/**
 * Draws one set of ledgers and the topics on it as SVG: the ledgers above, and below them each topic.
 * A topic has its visible entries, its last confirmed entry, and a rail for each of its cursors. Shapes repeat what colours show: visible
 * entries are filled, others are dashed, deleted ones are hatched.
 */

const SVG = "http://www.w3.org/2000/svg";
const EDGE = 6;
const LEDGERS_Y = 4;
/** Heights in CSS pixels at scale 1. */
const ROW = { ledger: 22, head: 22, band: 16, cursor: 22, after: 14 };
const CELL_FROM = 7; // px from which entries are drawn individually
const LETTER = 7; // approximate width of a letter, px, for deciding whether a text fits
const DELETED_MIN = 86;
const DELETED_SHARE = 0.12; // share of the width for deleted entries, which are not drawn to scale

/**
 * @param {Document} document
 * @param {SVGSVGElement} svg
 * @param {import("../model/shadows.js").Shared} shared
 * @param {number} width CSS pixels
 * @param {number} scale of type and heights; larger on a projector
 */
export function drawShadows(document, svg, shared, width, scale) {
  const parts = [];
  const inner = Math.max(40, width - 2 * EDGE);
  const deleted = shared.first_kept ? Math.max(DELETED_MIN, inner * DELETED_SHARE) : 0;
  const entry = (inner - deleted) / Math.max(1, shared.to - shared.first_kept);
  const x = (index) => {
    if (index < shared.first_kept) return EDGE + (deleted * Math.max(0, index)) / shared.first_kept;
    return EDGE + deleted + (Math.min(index, shared.to) - shared.first_kept) * entry;
  };
  const put = (name, attributes, text) => {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
    if (text !== undefined) node.textContent = text;
    parts.push(node);
    return node;
  };
  const row = Object.fromEntries(Object.entries(ROW).map(([name, height]) => [name, Math.round(height * scale)]));
  const tools = { put, x, inner, deleted, entry, shared, row, letter: LETTER * scale, half: Math.round(4 * scale) };
  let y = drawLedgers(tools) + row.after;
  for (const reader of shared.readers) y = drawReader(tools, reader, y) + row.after;
  svg.replaceChildren(pattern(document), ...parts);
  svg.setAttribute("viewBox", `0 0 ${width} ${y}`);
  svg.setAttribute("width", String(width));
  svg.setAttribute("height", String(y));
}

function pattern(document) {
  const defs = document.createElementNS(SVG, "defs");
  const hatch = document.createElementNS(SVG, "pattern");
  for (const [key, value] of Object.entries({ id: "shadow-deleted", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" })) hatch.setAttribute(key, String(value));
  const line = document.createElementNS(SVG, "line");
  for (const [key, value] of Object.entries({ x1: 0, y1: 0, x2: 0, y2: 6, class: "hatch" })) line.setAttribute(key, String(value));
  hatch.append(line);
  defs.append(hatch);
  return defs;
}

function drawLedgers({ put, x, inner, deleted, entry, shared, row, letter }) {
  const bottom = LEDGERS_Y + row.ledger;
  if (deleted) {
    put("rect", { class: "deleted", x: EDGE, y: LEDGERS_Y, width: deleted, height: row.ledger, fill: "url(#shadow-deleted)" });
    put("text", { class: "note on-hatch", x: EDGE + 6, y: LEDGERS_Y + row.ledger * 0.68 }, `${whole(shared.first_kept)} trimmed`);
  }
  for (const { id, first, end, open } of shared.ledgers) {
    const left = x(first);
    const right = open ? EDGE + inner : x(end);
    put("rect", { class: open ? "ledger open" : "ledger", x: left, y: LEDGERS_Y, width: Math.max(1, right - left), height: row.ledger });
    if (entry >= CELL_FROM) for (let index = first; index < end; index += 1) put("line", { class: "cell", x1: x(index), y1: bottom - 8, x2: x(index), y2: bottom });
    const label = open ? `${id} open` : `${id}`;
    if (right - left > label.length * letter + 8) put("text", { class: "ledger-name", x: left + 5, y: LEDGERS_Y + row.ledger * 0.6 }, label);
  }
  return bottom;
}

function drawReader(tools, reader, top) {
  const { put, x, inner, shared, row, letter } = tools;
  const right = EDGE + inner;
  const seen = x(reader.seen_to);
  const first = x(shared.first_kept);
  put("text", { class: "topic", x: EDGE, y: top + row.head * 0.6 }, reader.name);
  const unseen = reader.behind ? `; ${counted(reader.behind, "entry", "entries")} not visible for ${span(reader.stale_us)}` : "";
  const where = `last confirmed entry ${reader.last_confirmed}${unseen}`;
  const beside = (reader.name.length + where.length + 2) * letter < inner; // else it gets a line of its own
  const where_y = top + row.head * (beside ? 0.6 : 1.4);
  put("text", { class: isBlind(reader) ? "note harm" : "note", x: beside ? right : EDGE, y: where_y, "text-anchor": beside ? "end" : "start" }, where);
  const y = top + row.head * (beside ? 1 : 1.8);
  put("rect", { class: "seen", x: first, y, width: Math.max(0, seen - first), height: row.band });
  if (reader.behind) put("rect", { class: "unseen", x: seen, y: y + 0.5, width: Math.max(0, right - seen), height: row.band - 1 });
  put("line", { class: "confirmed", x1: seen, y1: y - 3, x2: seen, y2: y + row.band + 3 });
  let at = y + row.band + 3;
  for (const cursor of reader.cursors) {
    drawCursor(tools, right, cursor, at);
    at += row.cursor;
  }
  return at;
}

function drawCursor({ put, x, row, letter, half }, right, cursor, top) {
  const y = top + half + 2;
  const mark = x(cursor.mark);
  put("line", { class: "rail", x1: EDGE, y1: y, x2: Math.max(mark, EDGE + 1), y2: y });
  for (const [first, last] of cursor.ranges) put("line", { class: "rail", x1: x(first), y1: y, x2: Math.max(x(last + 1), x(first) + 1), y2: y });
  put("path", { class: "pin", d: `M ${mark - half} ${y + 2 * half} L ${mark} ${y} L ${mark + half} ${y + 2 * half} Z` });
  const words = `${cursor.name}${cursor.backlog ? ` · backlog ${whole(cursor.backlog)}` : " · backlog 0"}`;
  const lost = cursor.lost ? ` · ${whole(cursor.lost)} lost` : "";
  const length = (words.length + lost.length) * letter;
  const fits_right = mark + 2 * half + length < right;
  const text = put("text", { class: "note", x: fits_right ? mark + 2 * half : Math.max(mark - 2 * half, EDGE + length), y: fits_right ? y + half : y + row.cursor * 0.68, "text-anchor": fits_right ? "start" : "end" }, words);
  if (lost) {
    const harm = text.ownerDocument.createElementNS(SVG, "tspan");
    harm.setAttribute("class", "harm");
    harm.textContent = lost;
    text.append(harm);
  }
}

const PLACES = [
  ["cache", "broker cache"],
  ["bookies", "bookies"],
  ["offload", "offloaded storage"],
];

/** @type {import("../../../pages/panels.js").Panel} */
export const SHADOWS = { name: "shadows", title: "Shadow topics", family: "shadow-topics", needs: "shadows", simulated: true, make };

function make(section, { document, window }) {
  section.classList.add("shadows");
  let selection = null;
  let drawn = "";
  const chooser = element(document, "div.choice", { role: "group", "aria-label": "Source topic" });
  const says = element(document, "p.says", {});
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("role", "img");
  const picture = element(document, "div.shared-ledgers", {}, [svg]);
  const table = element(document, "div.scrolls", { tabindex: 0, role: "region", "aria-label": "Topics on these ledgers" });
  const key = element(document, "p.quiet.key", { text: "Filled: readable. Dashed: written by the source, not readable here yet. Hatched: trimmed by the source. Upright line: last confirmed entry. Rail and pin: what a cursor has acknowledged, and its mark-delete position." });
  section.replaceChildren(chooser, says, picture, key, table);

  function offer(state, chosen) {
    const sources = sourcesOf(state);
    chooser.hidden = sources.length < 2;
    chooser.replaceChildren(
      ...sources.map(([cluster, source]) =>
        element(document, "button", { type: "button", "aria-pressed": String(cluster === chosen[0] && source === chosen[1]), text: `${source} in ${cluster}`, onclick: () => choose(state, [cluster, source]) }),
      ),
    );
  }

  function choose(state, source) {
    selection = source;
    drawn = "";
    write(state, source);
  }

  function write(state, source) {
    const shared = sharedLedgers(state, source);
    offer(state, source);
    setText(says, sentence(shared));
    drawShadows(document, svg, shared, picture.clientWidth || 600, Number(window.getComputedStyle(section).getPropertyValue("--scale")) || 1);
    svg.setAttribute("aria-label", `Ledgers of ${shared.source} with ${counted(shared.readers.length, "topic")} on them; the table has the same figures.`);
    renew(table, [figures(document, shared)]);
  }

  return {
    update(state, watched) {
      const known = sourcesOf(state);
      const source = known.find(([cluster, name]) => selection && cluster === selection[0] && name === selection[1]) ?? sourceWatched(state, watched);
      picture.hidden = table.hidden = key.hidden = !source;
      if (!source) {
        drawn = "";
        setText(says, "No topic here has a shadow topic. In a scenario file, shadowOf makes one.");
        svg.replaceChildren();
        table.replaceChildren();
        return;
      }
      const wanted = [source, state.view.branch, state.view.seq, state.at_us, picture.clientWidth].join("|");
      if (wanted === drawn) return;
      drawn = wanted;
      write(state, source);
    },
  };
}

function sentence(shared) {
  const kept = shared.to - shared.first_kept;
  const copies = counted(shared.readers.length - 1, "copy", "copies");
  const saved = savedBytes(shared);
  const saving = saved ? `${copies} would take ${bytes(saved)} more.` : kept ? "0 B saved: no shadow topic can read any of them yet." : "";
  return `${counted(kept, "entry", "entries")} in ${counted(shared.ledgers.length, "ledger")} serve ${counted(shared.readers.length, "topic")}. ${saving}`;
}

function readWords(reader) {
  const reads = PLACES.filter(([place]) => reader.reads[place]).map(([place, words]) => `${whole(reader.reads[place])} ${words}`);
  return reads.length ? reads.join(", ") : "none yet";
}

function figures(document, shared) {
  const head = element(document, "tr", {}, columnHeads(document, ["topic", "last confirmed entry", "not visible yet", "storage saved", "reads from", "lost", "fed by"]));
  const most = Math.max(1, ...shared.readers.map(readsInAll));
  const rows = shared.readers.map((reader) => {
    const lost = reader.cursors.reduce((total, cursor) => total + cursor.lost, 0);
    return element(document, "tr", {}, [
      element(document, "th", { scope: "row", text: reader.name }),
      element(document, "td.mono", { text: reader.last_confirmed }),
      element(document, `td${isBlind(reader) ? ".harm-text" : ""}`, { text: reader.behind ? `${counted(reader.behind, "entry", "entries")}, for ${span(reader.stale_us)}` : "0" }),
      element(document, "td", { text: reader.is_source ? "" : bytes(reader.saved_bytes) }),
      element(document, "td.reads", {}, [readsBar(document, reader, most), element(document, "span", { text: readWords(reader) })]),
      element(document, `td${lost ? ".harm-text" : ""}`, { text: lost ? counted(lost, "message") : "none" }),
      element(document, "td", { text: [fedBy(reader), reader.queued ? `${counted(reader.queued, "entry", "entries")} queued for a ledger that is not in the list yet` : "", reader.unreadable ? `a reader is stuck at ${reader.unreadable}, which is stored nowhere` : ""].filter(Boolean).join("; ") }),
    ]);
  });
  return element(document, "table", {}, [element(document, "thead", {}, [head]), element(document, "tbody", {}, rows)]);
}

/** A bar of reads by place; its length is the reader's share of the most that any topic here has read. */
function readsBar(document, reader, most) {
  const bar = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [name, value] of Object.entries({ class: "reads-bar", viewBox: "0 0 100 8", width: 100, height: 8, "aria-hidden": "true", preserveAspectRatio: "none" })) bar.setAttribute(name, String(value));
  let left = 0;
  for (const [place] of PLACES) {
    const width = (100 * reader.reads[place]) / most;
    const piece = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    for (const [name, value] of Object.entries({ class: place, x: left, y: 0, width, height: 8 })) piece.setAttribute(name, String(value));
    bar.append(piece);
    left += width;
  }
  return bar;
}
