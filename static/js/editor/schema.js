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
