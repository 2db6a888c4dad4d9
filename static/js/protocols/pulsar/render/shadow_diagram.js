/**
 * Draws one set of ledgers and the topics on it as SVG: the ledgers above, and below them each topic.
 * A topic has its visible entries, its last confirmed entry, and a rail for each of its cursors. Shapes repeat what colours show: visible
 * entries are filled, others are dashed, deleted ones are hatched.
 */

import { counted, span, whole } from "../../../model/format.js";
import { isBlind } from "../model/shadows.js";

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
