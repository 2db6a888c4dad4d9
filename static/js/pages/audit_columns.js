/**
 * The columns of a log that is about to be uploaded: the browser reads the head of the chosen file, and the visitor says which column is which.
 * Nothing is sent for it. The result is the mapping, as text in the form.
 */

import { element, required, setText } from "../render/dom.js";

export const HEAD_BYTES = 64 * 1024;
const ROWS_MOST = 50;
const COLUMNS_MOST = 60;
const EXAMPLES_MOST = 3;
const KINDS_MOST = 12;
const SHOWN_CHARACTERS = 80;
const LINE_CHARACTERS = 1000;

/** Columns of the mapping that the drop-downs assign, with the words of their names that are recognised. */
export const ASSIGNED = [
  { name: "ts", label: "Time", pattern: /^(ts|at|when|date|time)$|timestamp|time/i },
  { name: "kind", label: "Kind", pattern: /^(kind|event|op|what|type|action)$|operation|event\.?name|kind|action/i },
  { name: "message_id", label: "Message id", pattern: /^(id|uuid|key)$|message.?id|msg.?id|event.?id|order.?id/i },
  { name: "subscription", label: "Subscription", pattern: /^(sub|group)$|subscription|group/i },
  { name: "cluster", label: "Cluster", pattern: /^(dc|site|zone)$|cluster|region|datacenter/i },
];
const REQUIRED = ["ts", "kind", "message_id"];
const KINDS = { publish: /^(publish(ed)?|send|sent|produced?)$/i, deliver: /^(deliver(ed)?|receiv(e|ed)|recv|consumed?|process(ed|ing)?)$/i, ack: /^(ack(ed|nowledged?)?|commit(ted)?|settled?)$/i };
/** Words that an audit knows without a mapping (`KIND_NAMES` in `spark_reports/audit/columns.py`). */
const KNOWN = /^(publish|publish_failed|publish_unknown|deliver|ack|produce_ok|produce_fail|produce_unknown|published|send|delivered|receive|process|acked|acknowledged|settle)$/i;
/** Formats that need no columns: spans, Kafka's verifiable tools and stats-internal. */
const OWN_FORMAT = /"resourceSpans"|"messaging\.|"(spanId|span_id)"|"name": ?"(record_data|records_consumed|producer_send_success|startup_complete|offsets_committed)"|"(entriesAddedCounter|lastConfirmedEntry)"/;
export const FROM_NAME = "([^/]+?)(?:[.][A-Za-z0-9]+)*$";

/**
 * @typedef {{name: string, values: string[], all: string[]}} Column its first different values, and those of all rows of the head
 * @typedef {{kind: "csv" | "jsonl" | "text" | "known" | "unread", delimiter?: string, columns: Column[], lines: string[]}} Head
 */

/** The columns of a file from its first bytes. A name of the ending decides about CSV, as in an audit. @param {string} text @param {string} name @returns {Head} */
export function headOf(text, name) {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/).map((line) => line.slice(0, LINE_CHARACTERS * 20)).filter((line) => line.trim());
  if (/\.(parquet|gz|bz2|zst)$/i.test(name) || text.includes("\u0000")) return { kind: "unread", columns: [], lines: [] };
  if (OWN_FORMAT.test(lines.slice(0, ROWS_MOST).join("\n"))) return { kind: "known", columns: [], lines };
  if (/\.(csv|tsv)$/i.test(name)) return csvHead(lines, /\.tsv$/i.test(name) ? "\t" : "");
  const rows = lines.slice(0, ROWS_MOST).map(parsed).filter((row) => row !== null);
  if (rows.length) return { kind: "jsonl", columns: columnsOf(rows.map((row) => flat(row))), lines };
  return { kind: "text", columns: [], lines };
}

/** The columns that a pattern's groups find in lines, in JavaScript's spelling of named groups. @param {string[]} lines @param {string} pattern @returns {Column[]} */
export function columnsOfPattern(lines, pattern) {
  const names = [...pattern.matchAll(/\(\?P?<([A-Za-z_]\w*)>/g)].map((found) => found[1]);
  const expression = new RegExp(pattern.replaceAll("(?P<", "(?<"));
  const rows = lines.slice(0, EXAMPLES_MOST * 4).map((line) => expression.exec(line.slice(0, LINE_CHARACTERS))?.groups ?? {});
  const found = columnsOf(rows.map((row) => Object.entries(row).filter(([, value]) => value)));
  return names.map((name) => found.find((column) => column.name === name) ?? { name, values: [], all: [] });
}

/** @param {string[]} lines @param {string} given @returns {Head} */
function csvHead(lines, given) {
  const delimiter = given || [",", ";", "\t", "|"].reduce((best, one) => (lines[0]?.split(one).length > lines[0]?.split(best).length ? one : best), ",");
  const [header = [], ...rows] = lines.slice(0, ROWS_MOST + 1).map((line) => cells(line, delimiter));
  const entries = rows.map((row) => header.map((name, number) => /** @type {[string, string]} */ ([name, row[number] ?? ""])));
  const found = columnsOf(entries);
  return { kind: "csv", delimiter, columns: header.slice(0, COLUMNS_MOST).map((name) => found.find((one) => one.name === name) ?? { name, values: [], all: [] }), lines };
}

/** The cells of a line; a quoted one may have delimiters and doubled quotes. @param {string} line @param {string} delimiter */
function cells(line, delimiter) {
  const found = [];
  let cell = "", quoted = false;
  for (let at = 0; at < line.length; at += 1) {
    const letter = line[at];
    if (quoted && letter === '"' && line[at + 1] === '"') { cell += letter; at += 1; }
    else if (letter === '"' && (quoted || !cell)) quoted = !quoted;
    else if (letter === delimiter && !quoted) { found.push(cell); cell = ""; }
    else cell += letter;
  }
  return [...found, cell];
}

/** @param {string} line @returns {object | null} */
function parsed(line) {
  try {
    const value = JSON.parse(line);
    return value && typeof value === "object" && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

/** The columns of an object; `b` inside `a` is `a.b`. @param {object} row @param {string} before @returns {[string, string][]} */
function flat(row, before = "") {
  return Object.entries(row).flatMap(([name, value]) =>
    value && typeof value === "object" && !Array.isArray(value) ? flat(value, `${before}${name}.`) : [/** @type {[string, string]} */ ([`${before}${name}`, value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value)])],
  );
}

/** @param {[string, string][][]} rows @returns {Column[]} */
function columnsOf(rows) {
  /** @type {Map<string, Set<string>>} */
  const found = new Map();
  for (const [name, value] of rows.flat()) {
    if (!found.has(name)) found.set(name, new Set());
    if (value) found.get(name).add(value);
  }
  return [...found].slice(0, COLUMNS_MOST).map(([name, values]) => ({ name, values: [...values].slice(0, EXAMPLES_MOST), all: [...values] }));
}

/** The column that is most likely meant: the one with the canonical name, else the first whose name says so. @param {Column[]} columns @returns {Record<string, string>} */
export function guessed(columns) {
  const chosen = /** @type {Record<string, string>} */ ({});
  for (const { name, pattern } of ASSIGNED) {
    const free = columns.filter((column) => !Object.values(chosen).includes(column.name));
    const last = (column) => column.name.slice(column.name.lastIndexOf(".") + 1);
    const found = free.find((column) => column.name === name) ?? free.find((column) => pattern.test(last(column))) ?? free.find((column) => pattern.test(column.name));
    chosen[name] = found?.name ?? "";
  }
  return chosen;
}

/** The kind that a word of the log stands for; empty if that cannot be guessed. @param {string} word */
export function kindOf(word) {
  return Object.keys(KINDS).find((kind) => KINDS[kind].test(word.trim())) ?? "";
}

/** Whether a file's columns have the canonical names, so that it needs no mapping. @param {Head} head */
export function needsNoMapping(head) {
  const names = head.columns.map((column) => column.name);
  return head.kind === "known" || (["ts", "kind"].every((name) => names.includes(name)) && ["message_id", "position"].some((name) => names.includes(name)));
}

/**
 * The mapping as YAML. Texts are quoted as in JSON, which YAML reads.
 * @param {Head} head
 * @param {Record<string, string>} chosen column by canonical name; "=deliver" for a kind that is the same in every row, "=name" for the file's name
 * @param {Record<string, string>} kinds kind by word
 * @param {{pattern?: string, position?: boolean}} more
 */
export function mappingText(head, chosen, kinds, { pattern = "", position = false } = {}) {
  const columns = Object.entries(chosen).filter(([, column]) => column && !column.startsWith("="));
  const entries = columns.map(([name, column]) => `  ${position && name === "message_id" ? "position" : name}: ${JSON.stringify(column)}`);
  const lines = ["format: 1"];
  if (pattern) lines.push(`pattern: ${JSON.stringify(pattern)}`);
  if (entries.length) lines.push("columns:", ...entries);
  if (chosen.kind?.startsWith("=")) lines.push(`constants: {kind: ${chosen.kind.slice(1)}}`);
  if (chosen.cluster === "=name") lines.push(`from_path: {cluster: ${JSON.stringify(FROM_NAME)}}`);
  const words = Object.entries(kinds).filter(([word, kind]) => kind && !(KNOWN.test(word) && kindOf(word) === kind));
  if (words.length) lines.push("kinds:", ...words.map(([word, kind]) => `  ${JSON.stringify(word)}: ${kind}`));
  if (head.delimiter && head.delimiter !== ",") lines.push(`delimiter: ${JSON.stringify(head.delimiter)}`);
  return `${lines.join("\n")}\n`;
}

/** The mapping of text by a ready one. @param {string} name @param {boolean} by_name whether the file's name is the cluster */
export function readyMapping(name, by_name) {
  return `format: 1\nmapping: ${name}\n${by_name ? `from_path: {cluster: ${JSON.stringify(FROM_NAME)}}\n` : ""}`;
}

/**
 * Shows the columns of the chosen file in the form, and writes the mapping when they are assigned.
 * @param {{document: Document, root: HTMLElement, files: HTMLInputElement, mapping: HTMLTextAreaElement}} parts
 */
export function offerColumns({ document, root, files, mapping }) {
  const section = required(root, "fieldset[data-part=columns]");
  const view = { document, section, says: required(section, "[data-part=says]"), table: required(section, "table"), rows: required(section, "tbody"), lines: required(section, "pre[data-part=lines]"), choices: required(section, "[data-part=choices]"), text: required(section, "[data-part=text]") };
  const ready = required(section, "select[data-part=ready]");
  const pattern = required(section, "input[data-part=pattern]");
  let written = "";
  const write = (text, asked = true) => {
    if (!asked && mapping.value.trim() && mapping.value !== written) return; // the visitor's own text
    mapping.value = written = text;
    const details = mapping.closest("details");
    if (details && text) details.open = true;
  };
  let head = /** @type {Head | null} */ (null);
  files.addEventListener("change", async () => {
    const file = files.files?.[0];
    section.hidden = true;
    head = file ? headOf(await file.slice(0, HEAD_BYTES).text(), file.name) : null;
    if (mapping.value === written) write("");
    if (!head || head.kind === "unread") return;
    section.hidden = false;
    view.text.hidden = view.lines.hidden = head.kind !== "text";
    view.table.hidden = true;
    if (head.kind === "text") showText();
    else if (needsNoMapping(head)) showNothing();
    else showColumns(view, head, head.columns, "", write);
  });
  ready.addEventListener("change", showText);
  pattern.addEventListener("change", showText);

  function showNothing() {
    setText(view.says, "The columns are those of a log: no mapping is needed.");
    view.choices.replaceChildren();
  }

  function showText() {
    if (!head) return;
    const own = ready.value === "pattern";
    required(section, "[data-part=pattern-home]").hidden = !own;
    view.choices.replaceChildren();
    view.table.hidden = true;
    setText(view.lines, head.lines.slice(0, EXAMPLES_MOST).map(shortened).join("\n"));
    setText(view.says, "Text without columns. Choose what wrote its lines, or describe a line. Nothing has been uploaded.");
    if (ready.value && !own) write(readyMapping(ready.value, (files.files?.length ?? 0) > 1));
    if (!own || !pattern.value.trim()) return;
    try {
      showColumns(view, head, columnsOfPattern(head.lines, pattern.value.trim()), pattern.value.trim(), write);
    } catch (reason) {
      setText(view.says, `This is no regular expression: ${reason.message}`);
    }
  }
}

/** @param {string} text */
const shortened = (text) => (text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS - 1)}…` : text);

/** The table of columns and the drop-downs. @param {any} view @param {Head} head @param {Column[]} columns @param {string} pattern @param {(text: string, asked?: boolean) => void} write */
function showColumns({ document, says, table, rows, choices }, head, columns, pattern, write) {
  const chosen = guessed(columns);
  const kinds = /** @type {Record<string, string>} */ ({});
  const options = { position: false };
  table.hidden = false;
  rows.replaceChildren(
    ...columns.map((column) =>
      element(document, "tr", {}, [element(document, "th", { scope: "row" }, [element(document, "code", { text: column.name })]), element(document, "td", { text: column.values.map(shortened).join(" · ") || "–" })]),
    ),
  );
  const words = element(document, "div.fields.words");
  const update = (asked = true) => {
    const missing = ASSIGNED.filter(({ name }) => REQUIRED.includes(name) && !chosen[name]).map(({ label }) => label);
    const unknown = Object.keys(kinds).filter((word) => !kinds[word]).map((word) => `what “${shortened(word)}” is`);
    const needed = [...missing, ...unknown].join(", ");
    setText(says, `${columns.length} columns were found in the first rows. ${needed ? `Still needed: ${needed}.` : "Say which is which."} Nothing has been uploaded.`);
    write(mappingText(head, chosen, kinds, { pattern, ...options }), asked);
  };
  const showWords = () => {
    for (const word of Object.keys(kinds)) delete kinds[word];
    const found = columns.find((column) => column.name === chosen.kind)?.all.slice(0, KINDS_MOST) ?? [];
    for (const word of found) kinds[word] = kindOf(word);
    const choose = (word, number) => selectOf(document, `word-${number}`, `“${shortened(word)}” is`, [["", "choose…"], ["publish", "a publish"], ["deliver", "a delivery"], ["ack", "an ack"], ["ignore", "left out"]], kinds[word], (value) => { kinds[word] = value; update(); });
    words.replaceChildren(...found.map(choose));
  };
  const names = columns.map((column) => /** @type {[string, string]} */ ([column.name, column.name]));
  const extra = { kind: [["=deliver", "every row is a delivery"]], cluster: [["=name", "the file’s name"]] };
  const fields = ASSIGNED.map(({ name, label }) =>
    selectOf(document, name, label, [["", "–"], ...names, ...(extra[name] ?? [])], chosen[name], (value) => {
      chosen[name] = value;
      if (name === "kind") showWords();
      update();
    }),
  );
  const position = element(document, "label.check", {}, [element(document, "input", { type: "checkbox", onchange: (event) => { options.position = event.target.checked; update(); } }), " The message id is an offset or ledger:entry, which differs between clusters"]);
  showWords();
  choices.replaceChildren(element(document, "div.fields", {}, fields), position, words);
  update(false);
}

/** A labelled drop-down. @param {Document} document @param {string} name a part of its id @param {string} label @param {string[][]} options @param {string} value @param {(value: string) => void} change */
function selectOf(document, name, label, options, value, change) {
  const id = `field-column-${name}`;
  const select = element(document, "select", { id, onchange: () => change(select.value) }, options.map(([own, text]) => element(document, "option", { value: own, text, selected: own === value })));
  return element(document, "div.set-field", {}, [element(document, "label", { for: id, text: label }), select]);
}
