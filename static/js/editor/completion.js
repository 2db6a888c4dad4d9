/**
 * What can be written at a place of a scenario's text: keys, values, and names that the text declares.
 * Everything comes from the schema and from the text. A snippet has places to fill in: $1, $2, and $0 where the cursor ends.
 *
 * @typedef {object} Completion
 * @property {string} label
 * @property {string} snippet
 * @property {string} kind shown beside it: "key", "required key", "name", "value", "default"
 * @property {string[]} words documentation, in paragraphs
 *
 * @typedef {import("./schema.js").Part} Part
 */

import { pathOf, readOutline, scalarsOf, valueAt } from "./outline.js";
import { entryAt, placeAt } from "./place.js";
import { belongs, isMap, isOfType, keysOf, neededIn, partAt, resolved, wordsOf } from "./schema.js";
import { escaped, namesIn, valuesOf } from "./values.js";

/**
 * @param {Part} schema @param {string} text @param {number} offset of the cursor
 * @returns {{from: number, word: string, completions: Completion[]}} `from` is the offset at which the word begins
 */
export function completionsAt(schema, text, offset) {
  const place = placeAt(text, offset);
  if (!place) return { from: offset, word: "", completions: [] };
  const about = aboutText(schema, text, { place, offset });
  const part = partAt(schema, place.path, about.scalars);
  const completions = part ? offered(about, part) : [];
  return { from: place.from, word: place.word, completions };
}

/** What completion knows of a text: its outline, and the protocol of its family ("" without a known one). */
function aboutText(schema, text, more) {
  const outline = readOutline(text);
  const protocol = schema["x-protocol-of"]?.[scalarsOf(outline.root).get("family")] ?? "";
  return { schema, text, outline, protocol, scalars: (path) => scalarsOf(valueAt(outline, path)), ...more };
}

function offered(about, part) {
  const { wanted } = about.place;
  return wanted === "key" || (wanted === "either" && isMap(part)) ? keys(about, part) : valuesOf(about, part);
}

/** @returns {Completion[]} the keys that are not written yet, those that are required first */
function keys(about, part) {
  const { schema, outline, place, protocol } = about;
  const map = valueAt(outline, place.path);
  const known = scalarsOf(map);
  const written = new Set((map?.entries ?? []).filter(({ from }) => from !== place.from).map(({ key }) => key));
  const needed = neededIn(schema, part, known);
  const found = [...keysOf(schema, part, known)]
    .map(([name, of]) => ({ name, of: resolved(schema, of) }))
    .filter(({ name, of }) => !written.has(name) && belongs(of, protocol))
    .map(({ name, of }) => ({ label: name, snippet: keySnippet(about, name, of), kind: needed.has(name) ? "required key" : "key", words: wordsOf(of) }));
  const member = resolved(schema, part.additionalProperties) ?? {};
  const named = namesIn(about, part.propertyNames ?? {}, wordsOf(member))
    .filter(({ label }) => !written.has(label))
    .map((one) => ({ ...one, snippet: keySnippet(about, one.label, member) }));
  return [...found.filter(({ kind }) => kind !== "key"), ...found.filter(({ kind }) => kind === "key"), ...named];
}

/** The text of a key with the beginning of its value; only the key where a colon follows already. */
function keySnippet({ schema, place, text, offset }, name, part) {
  const written = escaped(name);
  if (/^[\w.-]*["']?[ ]*:(\s|$)/.test(text.slice(offset, offset + 100))) return written;
  if (place.flow) return `${written}: ${isMap(part) ? "{$0}" : isOfType(part, "array") ? "[$0]" : "$0"}`;
  const deeper = `\n${" ".repeat(place.column + 2)}`;
  if (isOfType(part, "array")) return isMap(resolved(schema, part.items) ?? {}) ? `${written}:${deeper}- {$0}` : `${written}: [$0]`;
  return isMap(part) ? `${written}:${deeper}$0` : `${written}: $0`;
}

/**
 * What the schema says about the place of the cursor or the mouse.
 * @param {Part} schema @param {string} text @param {number} row from 0 @param {number} offset
 * @returns {{path: string, words: string[], from: number, to: number, row: number} | null}
 */
export function documentationAt(schema, text, row, offset) {
  const about = aboutText(schema, text, {});
  const entry = entryAt(about.outline, row, offset);
  const part = entry && partAt(schema, pathOf(entry), about.scalars);
  const words = part ? wordsOf(part) : [];
  return words.length ? { path: pathText(pathOf(entry)), words, from: entry.from, to: entry.to, row } : null;
}

/** A path as the loader writes it: `commands[0].do`. */
const pathText = (path) => path.reduce((text, key) => (typeof key === "number" ? `${text}[${key}]` : text ? `${text}.${key}` : key), "");
