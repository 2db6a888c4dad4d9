/**
 * Where in a YAML text the cursor is: in a key or a value, of which map, and the word that was begun.
 *
 * @typedef {object} Place
 * @property {"key" | "value" | "either"} wanted what may be written here; "either" for an item that is still one word
 * @property {(string | number)[]} path of the map whose key, or of the entry whose value, is being written
 * @property {number} from offset at which the word begins
 * @property {string} word what is written of it before the cursor, without an opening quote
 * @property {boolean} flow within brackets
 * @property {number} column of the key or value in its line
 * @property {boolean} spaced false right after a colon, where a space is missing
 */

import { pathOf, readOutline } from "./outline.js";

const KEY_PART = /^((?:"[^"]*"|'[^']*'|[^\s#[\]{},"'][^#]*?)\s*:)(?:\s+|$)/;
const HYPHENS = /^(?:-(?:\s+|$))*/;

/** @param {string} text @param {number} offset of the cursor @returns {Place | null} null where nothing can be completed */
export function placeAt(text, offset) {
  const line_at = text.lastIndexOf("\n", offset - 1) + 1;
  const written = text.slice(line_at, offset);
  if (/(^|\s)#/.test(written.replace(/"[^"]*"|'[^']*'/g, ""))) return null;
  const outline = readOutline(text.slice(0, offset));
  return outline.open.length ? inBrackets(text, offset, line_at, outline.open.at(-1)) : inBlock(text, offset, line_at, written, outline);
}

/** @param {string} text @param {number} offset @param {number} line_at @param {import("./outline.js").OpenFlow} open @returns {Place} */
function inBrackets(text, offset, line_at, open) {
  const { map, entry, owner, value } = open;
  const opened = Math.max(...["{", "[", ",", "\n"].map((letter) => text.lastIndexOf(letter, offset - 1))) + 1;
  const is_key = map && !entry;
  const after_colon = map && entry ? text.indexOf(":", entry.to) + 1 : 0;
  const begin = Math.max(opened, after_colon);
  const { from, word } = wordIn(text, begin, offset);
  const item = entry ? entry.key : value.entries.length;
  const path = is_key ? pathOf(owner) : map ? pathOf(entry) : [...pathOf(owner), item];
  return { wanted: is_key ? "key" : "value", path, from, word, flow: true, column: from - line_at, spaced: text[from - 1] !== ":" };
}

/** @param {import("./outline.js").Outline} outline of the text before the cursor @returns {Place | null} */
function inBlock(text, offset, line_at, written, outline) {
  const before = readOutline(text.slice(0, line_at));
  const indent = written.length - written.trimStart().length;
  if (before.block !== null && indent > before.block) return null;
  const hyphens = HYPHENS.exec(written.slice(indent))[0];
  const content = indent + hyphens.length;
  const key = KEY_PART.exec(written.slice(content));
  const place = (wanted, entry, begin) => {
    const { from, word } = wordIn(text, begin, offset);
    return { wanted, path: pathOf(entry), from, word, flow: false, column: from - line_at, spaced: text[from - 1] !== ":" };
  };
  if (key) return place("value", outline.entries.at(-1), line_at + content + key[1].length);
  if (hyphens) return place("either", outline.stack.at(-1).entry, line_at + content);
  const container = before.stack.findLast((one) => one.indent < content);
  const value = container.entry?.value ?? before.root;
  return value.flow || value.kind === "scalar" || value.kind === "block" ? null : place("key", container.entry, line_at + content);
}

function wordIn(text, begin, offset) {
  let from = begin;
  while (from < offset && (text[from] === " " || text[from] === "\t")) from += 1;
  const quoted = text[from] === '"' || text[from] === "'";
  return { from, word: text.slice(from + (quoted ? 1 : 0), offset) };
}

/**
 * The entry that the place in a row belongs to: the last one that begins in this row before it.
 * @param {import("./outline.js").Outline} outline @param {number} row @param {number} offset
 * @returns {import("./outline.js").Entry | null}
 */
export const entryAt = ({ entries }, row, offset) => entries.findLast((entry) => entry.row === row && entry.from <= offset) ?? null;
