/**
 * Reads the keys and values of a YAML text with their places, also while the text is being typed and is not valid.
 * It finds where completion is asked for and which names are declared. Whether the text is valid is decided by the server's loader only.
 * A text is read once from its beginning to its end; unclosed brackets end at the next line that begins a key further left.
 *
 * @typedef {object} Value
 * @property {"map" | "list" | "scalar" | "empty" | "block"} kind "block" is a text after | or >
 * @property {Entry[]} entries of a map or list
 * @property {string} text of a scalar, without quotes
 * @property {boolean} [flow] true for a map or list in brackets
 *
 * @typedef {object} Entry a key of a map or an item of a list
 * @property {string | number} key the number of an item
 * @property {Entry | null} parent null at the top level
 * @property {Value} value
 * @property {number} row from 0
 * @property {number} from offset of the key, or of the item's hyphen or value
 * @property {number} to offset of the key's end
 *
 * @typedef {object} Outline
 * @property {Value} root
 * @property {Entry[]} entries all, in the order of the text
 * @property {OpenFlow[]} open the brackets that are still open at the end of the text, outermost first
 * @property {{indent: number, entry: Entry | null}[]} stack the block entries that are open at the end of the text
 * @property {number | null} block the indentation of the key whose block text is open at the end, if one is
 *
 * @typedef {{value: Value, entry: Entry | null, map: boolean, owner: Entry | null}} OpenFlow the `entry` whose value is being written
 */

/** Levels of brackets that are read; the loader reads fewer. */
const DEEPEST = 64;

/** Characters within which a key ends; the loader takes 200. */
const LONGEST_KEY = 300;

const KEY = /^("(?:[^"\\\n]|\\.)*"|'(?:[^'\n]|'')*'|[^\s#[\]{},"'&*!|>%@`-](?:[^#\n]|\S#)*?|-(?!\s)(?:[^#\n]|\S#)*?)\s*:(?=\s|$)/;
const FLOW_KEY = /^("(?:[^"\\\n]|\\.)*"|'(?:[^'\n]|'')*'|[^\s#[\]{},"'\n][^,{}[\]\n]*?)\s*:(?=[\s,{}[\]]|$)/;
const FLOW_SCALAR = /"(?:[^"\\\n]|\\.)*"?|'(?:[^'\n]|'')*'?|[^,{}[\]\n]+/y;
const NEW_KEY = /^( *)(?:- +)*[^\s#[\]{},"'][^#\n{}[\],]*?:(?=\s|$)/;

/** @param {string} text @returns {Outline} */
export function readOutline(text) {
  const reading = new Reading(text);
  let at = 0;
  while (at <= text.length) at = reading.line(at);
  return reading.outline;
}

/** @returns {Value} */
const emptyValue = () => ({ kind: "empty", entries: [], text: "" });

/** @param {string} written @returns {string} */
export function unquoted(written) {
  const plain = written.trim();
  const quote = plain[0];
  if (quote !== '"' && quote !== "'") return plain;
  const inner = plain.length > 1 && plain.endsWith(quote) ? plain.slice(1, -1) : plain.slice(1);
  return quote === "'" ? inner.replaceAll("''", "'") : inner.replace(/\\(["\\])/g, "$1");
}

class Reading {
  constructor(text) {
    this.text = text;
    this.row = 0;
    const root = { ...emptyValue(), kind: "map" };
    /** @type {Outline} */
    this.outline = { root: /** @type {Value} */ (root), entries: [], open: [], stack: [{ indent: -1, entry: null }], block: null };
  }

  /** Reads the line that begins at an offset. @returns {number} the offset of the next one */
  line(at) {
    const { text, outline } = this;
    const newline = text.indexOf("\n", at);
    const end = newline < 0 ? text.length : newline;
    const indent = indentOf(text, at, end);
    const blank = at + indent >= end || text[at + indent] === "#";
    let read_to = end;
    if (!blank && (outline.block === null || indent <= outline.block)) {
      outline.block = null;
      read_to = this.content(at, at + indent, end);
    }
    this.row += 1;
    const next = text.indexOf("\n", read_to);
    return next < 0 ? text.length + 1 : next + 1;
  }

  /** Reads the content of a line: hyphens, a key, a value. @returns {number} the offset up to which was read, possibly in a later line */
  content(line_at, at, end) {
    const { text, outline } = this;
    while (text[at] === "-" && (at + 1 >= end || text[at + 1] === " ")) {
      const column = at - line_at;
      this.close(column, true);
      this.add(this.top(), "list", at, at + 1, column);
      at = this.skipSpaces(at + 1, end);
      if (at >= end || text[at] === "#") return end;
    }
    const key = matchAt(KEY, text, at, end);
    if (key) {
      const column = at - line_at;
      this.close(column, false);
      this.add(this.top(), "map", at, at + key[1].length, column, unquoted(key[1]));
      at = this.skipSpaces(at + key[0].length, end);
      if (at >= end || text[at] === "#") return end;
    }
    const owner = outline.stack.at(-1);
    if (!owner.entry || owner.entry.value.kind !== "empty") return end;
    if (text[at] === "{" || text[at] === "[") return this.flow(at, owner.entry, owner.indent, 1);
    if (key && (text[at] === "|" || text[at] === ">")) {
      owner.entry.value.kind = "block";
      outline.block = owner.indent;
    } else if (at - line_at > owner.indent) {
      owner.entry.value.kind = "scalar";
      owner.entry.value.text = unquoted(withoutComment(text.slice(at, end)));
    }
    return end;
  }

  skipSpaces(at, end) {
    while (at < end && this.text[at] === " ") at += 1;
    return at;
  }

  top() {
    const { entry } = this.outline.stack.at(-1);
    return { owner: entry, value: entry ? entry.value : this.outline.root };
  }

  /** Leaves the entries that a line at this column does not belong to. A hyphen may be at the column of its list's key. */
  close(column, hyphen) {
    const { stack } = this.outline;
    for (let last = stack.at(-1); last.indent > column || (last.indent === column && (!hyphen || typeof last.entry.key === "number")); last = stack.at(-1)) stack.pop();
  }

  add({ owner, value }, kind, from, to, indent, key = null) {
    if (value.kind === "empty") value.kind = kind;
    /** @type {Entry} */
    const entry = { key: key ?? value.entries.length, parent: owner, value: emptyValue(), row: this.row, from, to };
    value.entries.push(entry);
    this.outline.entries.push(entry);
    if (indent !== null) this.outline.stack.push({ indent, entry });
    return entry;
  }

  /**
   * Reads a map or list in brackets that begins at an offset.
   * @returns {number} the offset after it, or where it was given up; the end of the text while it is open
   */
  flow(at, owner, indent, depth) {
    const { text, outline } = this;
    const open = { value: owner.value, owner, entry: null, map: text[at] === "{" };
    open.value.kind = open.map ? "map" : "list";
    open.value.flow = true;
    const index = outline.open.push(open) - 1;
    at += 1;
    while (at < text.length) {
      const letter = text[at];
      const closes = letter === "}" || letter === "]";
      if (closes || (letter === "\n" && this.startsKey(at + 1, indent))) {
        outline.open.length = index;
        return closes ? at + 1 : at;
      }
      if (letter === "\n") this.row += 1;
      if (letter === ",") open.entry = null;
      if (letter === "," || /\s/.test(letter)) at += 1;
      else if (letter === "#" && /\s/.test(text[at - 1])) at = text.indexOf("\n", at) < 0 ? text.length : text.indexOf("\n", at);
      else at = this.flowPart(at, open, indent, depth);
    }
    return at;
  }

  /** Reads a key or a value within brackets. */
  flowPart(at, open, indent, depth) {
    const { text } = this;
    const nested = text[at] === "{" || text[at] === "[";
    if (open.map && !open.entry && !nested) {
      const key = matchAt(FLOW_KEY, text, at, text.length);
      if (key) {
        open.entry = this.add(open, "map", at, at + key[1].length, null, unquoted(key[1]));
        return at + key[0].length;
      }
    }
    if (!open.map && !open.entry) open.entry = this.add(open, "list", at, at, null);
    const free = open.entry && open.entry.value.kind === "empty";
    if (nested) return free && depth < DEEPEST ? this.flow(at, open.entry, indent, depth + 1) : at + 1;
    FLOW_SCALAR.lastIndex = at;
    const scalar = FLOW_SCALAR.exec(text)?.[0] ?? text[at];
    if (free) {
      open.entry.value.kind = "scalar";
      open.entry.value.text = unquoted(withoutComment(scalar));
    }
    return at + scalar.length;
  }

  startsKey(at, indent) {
    const end = this.text.indexOf("\n", at);
    const found = matchAt(NEW_KEY, this.text, at, end < 0 ? this.text.length : end);
    return found !== null && found[1].length <= Math.max(0, indent);
  }
}

/** Matches a key at an offset. Only as many characters are looked at as the longest key has, so that long lines take no longer. */
const matchAt = (pattern, text, at, end) => pattern.exec(text.slice(at, Math.min(end, at + LONGEST_KEY)));

function indentOf(text, at, end) {
  let indent = 0;
  while (at + indent < end && text[at + indent] === " ") indent += 1;
  return indent;
}

const withoutComment = (text) => /^(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')/.exec(text)?.[0] ?? text.replace(/(^|\s)#.*$/, "");

/** @param {Entry | null} entry @returns {(string | number)[]} */
export function pathOf(entry) {
  const path = [];
  for (let one = entry; one; one = one.parent) path.unshift(one.key);
  return path;
}

/** @param {Outline} outline @param {(string | number)[]} path @returns {Value | null} */
export function valueAt({ root }, path) {
  let value = root;
  for (const key of path) {
    const entry = value.entries.find((one) => one.key === key);
    if (!entry) return null;
    value = entry.value;
  }
  return value;
}

/** @param {Value | null} value @returns {Map<string, string>} the scalars of a map, by key */
export const scalarsOf = (value) => new Map((value?.entries ?? []).map((entry) => [String(entry.key), entry.value.text]));

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

/** @param {string} text @param {number} offset @param {number} line_at @param {OpenFlow} open @returns {Place} */
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

/** @param {Outline} outline of the text before the cursor @returns {Place | null} */
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
 * @param {Outline} outline @param {number} row @param {number} offset
 * @returns {Entry | null}
 */
export const entryAt = ({ entries }, row, offset) => entries.findLast((entry) => entry.row === row && entry.from <= offset) ?? null;
