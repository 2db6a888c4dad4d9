/**
 * What can be written at a place of a scenario's text: keys, values, and names that the text declares.
 * Everything comes from the schema and from the text. A snippet has places to fill in: $1, $2, and $0 where the cursor ends.
 *
 * @typedef {object} Completion
 * @property {string} label
 * @property {string} snippet
 * @property {string} kind shown beside it: "key", "required key", "name", "value", "default"
 * @property {string[]} words documentation, in paragraphs
 */

import { entryAt, pathOf, placeAt, readOutline, scalarsOf, valueAt } from "./outline.js";

/**
 * Finds the part of the JSON Schema that describes a place, and reads it for people.
 * Everything that the editor knows of the format is in the schema that the server makes from the simulator's declarations.
 *
 * @typedef {Object<string, any>} Part a JSON Schema without references at its top
 */

/** The most choices that documentation lists, as in the loader's messages. */
const LISTED = 40;

/** @param {Part} schema the whole @param {Part | boolean | undefined} part @returns {Part | null} with its reference resolved; its own keywords take precedence */
export function resolved(schema, part) {
  if (!part || part === true) return null;
  if (!part.$ref) return part;
  const { $ref, ...own } = part;
  return { ...resolved(schema, schema.$defs[$ref.split("/").at(-1)]), ...own };
}

/**
 * The part of an entry.
 * @param {Part} schema
 * @param {(string | number)[]} path
 * @param {(path: (string | number)[]) => Map<string, string>} scalars the scalars of the map at a path
 * @returns {Part | null} null where the schema describes nothing
 */
export function partAt(schema, path, scalars) {
  let part = schema;
  for (const [depth, key] of path.entries()) {
    part = resolved(schema, memberOf(schema, part, key, scalars(path.slice(0, depth))));
    if (!part) return null;
  }
  return part;
}

function memberOf(schema, part, key, known) {
  if (typeof key === "number") return part.items;
  const named = keysOf(schema, part, known).get(key);
  if (named) return named;
  return typeof part.additionalProperties === "object" ? part.additionalProperties : undefined;
}

/**
 * The keys of a map and their parts.
 * Where the scalars that are already written select a branch, such as the command's name, the keys of that branch are added.
 * @param {Part} schema @param {Part} part @param {Map<string, string>} known scalars of the map
 * @returns {Map<string, Part>}
 */
export function keysOf(schema, part, known) {
  const keys = new Map();
  const add = (properties) => {
    for (const [name, one] of Object.entries(properties ?? {})) {
      if (typeof one === "object" && (!keys.has(name) || one.description)) keys.set(name, keys.has(name) ? { ...keys.get(name), ...one } : one);
    }
  };
  add(part.properties);
  for (const branch of branchesOf(part, known)) add(branch.properties);
  add(optionOf(schema, part, known)?.properties);
  for (const [name, of] of constants(optionsOf(schema, part))) keys.set(name, of);
  return keys;
}

/** The keys of a map that must be there, with those of the selected branches. @returns {Set<string>} */
export function neededIn(schema, part, known) {
  return new Set([part, optionOf(schema, part, known) ?? {}, ...branchesOf(part, known)].flatMap((one) => required(one)));
}

const branchesOf = (part, known) => (part.allOf ?? []).filter((one) => selects(one.if, known)).map((one) => one.then);
const optionsOf = (schema, part) => (part.anyOf ?? []).map((one) => resolved(schema, one)).filter((one) => one?.properties);
const optionOf = (schema, part, known) => optionsOf(schema, part).find((one) => selects(one, known));

/** Of several alternatives, the keys that tell them apart: `distribution` with all its values. */
function constants(options) {
  const found = new Map();
  for (const { properties } of options) {
    for (const [name, of] of Object.entries(properties)) if (of.const !== undefined) found.set(name, { enum: [...(found.get(name)?.enum ?? []), of.const] });
  }
  return found;
}

/** Whether the scalars have every constant of a condition or alternative, or one of its choices. */
function selects(condition, known) {
  const fixed = Object.entries(condition?.properties ?? {}).filter(([name, of]) => of.const !== undefined || condition.required?.includes(name));
  const tests = fixed.filter(([, of]) => of.const !== undefined || of.enum);
  return tests.length > 0 && tests.every(([name, of]) => (of.const === undefined ? of.enum.includes(known.get(name)) : known.get(name) === of.const));
}

/** @param {Part} part @returns {string[]} */
export const required = (part) => part.required ?? [];

/** Whether a key, section or command exists in the protocol of the document's family. @param {Part} part @param {string} protocol "" when it is not known */
export const belongs = (part, protocol) => !part["x-protocol"] || !protocol || part["x-protocol"] === protocol;

/** @param {Part} part @param {string} type @returns {boolean} */
export const isOfType = (part, type) => (Array.isArray(part.type) ? part.type.includes(type) : part.type === type);

/** Whether a value is a map and nothing else. @param {Part} part */
export const isMap = (part) => isOfType(part, "object") && !isOfType(part, "string");

/** The branch of a command's arguments. @param {Part} part of commands @param {string} [name] of the command @returns {Part | undefined} */
export const branchOf = (part, name) => (part.allOf ?? []).find((one) => name !== undefined && one.if?.properties?.do?.const === name)?.then;

/**
 * The documentation of a key: what it means, what it takes, and its default.
 * @param {Part} part @returns {string[]} paragraphs
 */
export function wordsOf(part) {
  const choices = part.enum?.length > LISTED ? `One of ${part.enum.length} names` : `One of ${part.enum?.join(", ")}`;
  const values = part.const !== undefined ? "" : part.enum ? choices : part["x-value"] ? `Value: ${part["x-value"]}` : "";
  const bounds = [part.minimum > 0 ? `at least ${part.minimum}` : "", part.type === "integer" && part.maximum < 1e9 ? `at most ${part.maximum}` : ""].filter(Boolean).join(", ");
  const value = [values, bounds].filter(Boolean).join("; ");
  const paragraphs = [part.description ?? "", value, part.default === undefined ? "" : `Default: ${part.default}`];
  return paragraphs.filter(Boolean).map((words) => (/[.?!]$/.test(words) ? words : `${words[0].toUpperCase()}${words.slice(1)}.`));
}

/** The values that completion offers: choices, names that the text declares, links, commands with their arguments, defaults. */

/** Most names, or links between names, that are offered at once. */
const MOST_NAMES = 200;

/** A text as a part of a snippet. @param {string | number | boolean} text */
export const escaped = (text) => String(text).replace(/[$}\\`]/g, "\\$&");

/**
 * @param {any} about @param {Part} part
 * @returns {Completion[]}
 */
export function valuesOf(about, part) {
  const { schema, place, protocol } = about;
  const space = place.spaced ? "" : " ";
  const words = wordsOf(part);
  const map = partAt(schema, place.path.slice(0, -1), about.scalars) ?? {};
  const found = (part.enum ?? []).map((word) => choice(about, map, word, part)).filter((one) => belongs(one.of, protocol));
  if (isOfType(part, "boolean")) found.push(...["true", "false"].map((word) => plain(word, part, words)));
  found.push(...namesIn(about, part, words), ...listsIn(about, part, words));
  for (const option of part.anyOf ?? []) if (option.properties) found.push(mapSnippet(option));
  if (isMap(part) && part.properties && place.wanted === "value") found.push({ label: "{ }", snippet: "{$0}", kind: "map", words });
  const offers_default = part.default !== undefined && typeof part.default !== "object";
  if (offers_default && !found.some(({ label }) => label === String(part.default))) found.push(plain(part.default, part, words));
  return found.map(({ label, snippet, kind, words }) => ({ label, snippet: space + snippet, kind, words }));
}

const plain = (word, part, words) => ({ label: String(word), snippet: escaped(word), kind: word === part.default || String(part.default) === word ? "default" : "value", words });

/** One of the choices; a command also writes the names of its required arguments. */
function choice(about, map, word, part) {
  const branch = branchOf(map, word);
  if (!branch) return { ...plain(word, part, wordsOf(part)), of: {} };
  const { place } = about;
  const written = new Set((valueAt(about.outline, place.path.slice(0, -1))?.entries ?? []).map(({ key }) => key));
  const names = required(branch).filter((name) => !written.has(name));
  const between = place.flow ? ", " : `\n${" ".repeat(columnOfKey(about))}`;
  const snippet = escaped(word) + names.map((name, at) => `${between}${name}: \${${at + 1}}`).join("");
  const known = Object.entries(branch.properties).filter(([name, of]) => typeof of === "object" && name !== "do");
  const words = [...wordsOf(branch.properties.do), ...known.map(([name, of]) => `${name}: ${of.description}${required(branch).includes(name) ? " (required)" : ""}`)];
  return { label: word, snippet, kind: "command", words, of: branch.properties.do };
}

/** The column of the key whose value is being written. */
function columnOfKey({ text, place }) {
  const line = text.slice(text.lastIndexOf("\n", place.from - 1) + 1, place.from);
  return /^ *(?:- +)*/.exec(line)[0].length;
}

/**
 * The names that a value or a key may have: of sections of the text, links and messages of them, fixed words.
 * @returns {Completion[]}
 */
export function namesIn(about, part, words) {
  const { outline, schema } = about;
  const declared = (sections) => [...new Set((sections ?? []).flatMap((section) => (valueAt(outline, [section])?.entries ?? []).map(({ key }) => String(key))))];
  const sites = part["x-links"] ? declared(schema["x-sites"]) : [];
  const pairs = sites.flatMap((from, at) => sites.filter((to) => to !== from).flatMap((to) => [`${from} -> ${to}`, ...(sites.indexOf(to) > at ? [`${from} <-> ${to}`] : [])]));
  const found = [...(part["x-words"] ?? []), ...declared(part["x-names"]), ...pairs, ...declared(part["x-messages"]).map((name) => `${name}/`)];
  return found.slice(0, MOST_NAMES).map((name) => ({ label: name, snippet: escaped(name), kind: part["x-words"]?.includes(name) ? "value" : "name", words }));
}

/** A list in brackets, empty or with every declared name. */
function listsIn(about, part, words) {
  if (!isOfType(part, "array")) return [];
  const names = namesIn(about, resolved(about.schema, part.items) ?? {}, words).map(({ label }) => label);
  const all = names.length > 1 && part.items["x-names"] ? [{ label: `[${names.join(", ")}]`, snippet: `[${escaped(names.join(", "))}]`, kind: "list", words }] : [];
  return [...all, { label: "[ ]", snippet: "[$0]", kind: "list", words }];
}

/** One of several maps, with what it requires: {distribution: uniform, low: , high: }. */
function mapSnippet(option) {
  const given = required(option).map((name) => ({ name, value: option.properties[name].const }));
  const open = given.filter(({ value }) => value === undefined);
  const parts = given.map(({ name, value }) => `${name}: ${value ?? `\${${1 + open.findIndex((one) => one.name === name)}}`}`);
  const label = `{${given.map(({ name, value }) => (value === undefined ? name : `${name}: ${value}`)).join(", ")}}`;
  const words = Object.entries(option.properties).filter(([, of]) => of.description).map(([name, of]) => `${name}: ${of.description}`);
  return { label, snippet: `{${parts.join(", ")}}`, kind: "map", words };
}

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
