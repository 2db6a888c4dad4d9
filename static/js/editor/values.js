/** The values that completion offers: choices, names that the text declares, links, commands with their arguments, defaults. */

import { valueAt } from "./outline.js";
import { belongs, branchOf, isMap, isOfType, partAt, required, resolved, wordsOf } from "./schema.js";

/** Most names, or links between names, that are offered at once. */
const MOST_NAMES = 200;

/** A text as a part of a snippet. @param {string | number | boolean} text */
export const escaped = (text) => String(text).replace(/[$}\\`]/g, "\\$&");

/**
 * @param {any} about @param {import("./schema.js").Part} part
 * @returns {import("./completion.js").Completion[]}
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
 * @returns {import("./completion.js").Completion[]}
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
