/**
 * The commands of a lab as the server's welcome declares them.
 * A declaration contains the label for menus, the arguments for forms and the text of the consequence.
 */

import { span } from "./format.js";

/** @typedef {{name: string, kind: string, required?: boolean, choices?: string[], begin?: string | number | boolean}} Argument */
/**
 * @typedef {object} When
 * @property {string} when an argument
 * @property {{[value: string]: Text}} texts by the argument's value, "" while none is chosen
 * @property {Text} otherwise
 */
/** @typedef {string | When | any[]} Text a list is a concatenation of texts; `simulator/scenarios/declarations.py` defines the meaning of each form */
/** @typedef {{label: string, consequence: Text, arguments: Argument[]}} Command */

/** @returns {Object<string, Command>} by name, in the order of docs/scenarios.md; none before the welcome */
export const commandsOf = (state) => state.welcome?.tables?.commands ?? {};

/**
 * Builds a command from the texts of a form: empty fields are left out, numbers and lists are parsed.
 * @param {import("./state.js").LabState} state
 * @param {string} name
 * @param {Object<string, string | boolean>} given
 * @returns {object} in the format of the socket
 */
export function commandOf(state, name, given) {
  const command = { do: name };
  for (const argument of commandsOf(state)[name].arguments) {
    const value = given[argument.name];
    if (value === undefined || value === "" || (value === false && !argument.required && argument.begin === undefined)) continue;
    command[argument.name] = valueOf(argument.kind, value);
  }
  return command;
}

/** @returns {any} the value of an argument of this kind that was typed as `value` */
export function valueOf(kind, value) {
  if (kind === "integer") return Number.isFinite(Number(value)) ? Number(value) : value;
  if (["messages", "names", "clusters", "addresses"].includes(kind)) return String(value).split(/[\s,]+/).filter(Boolean);
  if (kind === "setting-value" && /^(true|false)$/.test(value)) return value === "true";
  if (kind === "setting-value" && /^-?\d+$/.test(value)) return Number(value);
  return value;
}

/** Describes a command in words: what it does and to what, for lists of events and of branches. */

/**
 * @param {import("./state.js").LabState} state of the lab that declares the command
 * @param {string} name such as "link.cut"
 * @param {Object<string, unknown>} given its arguments as in the trace; names of durations end in `_us`
 * @returns {{does: string, to: string}} "cut a link" and "us-east ↔ us-west"; without switches and optional durations
 */
export function commandWords(state, name, given) {
  const command = commandsOf(state)[name];
  if (!command) return { does: name, to: "" };
  const named = command.arguments.filter(({ kind, required }) => kind !== "boolean" && (required || kind !== "duration"));
  const words = named.map((argument) => [argument.name, valueWords(argument, given)]).filter(([, text]) => text);
  return { does: command.label, to: words.map(([name, text], at) => (at === 0 ? text : `${name === "to" && words[at - 1][0] === "from" ? " → " : ", "}${text}`)).join("") };
}

/**
 * A value as text; one that the command declares, such as a kind of marker, without its underscores.
 * @param {Argument} argument
 * @param {Object<string, any>} given
 */
function valueWords({ name, choices }, given) {
  if (given[`${name}_us`] !== undefined) return span(given[`${name}_us`]);
  const value = given[name] ?? "";
  if (choices) return String(value).replaceAll("_", " ");
  return (typeof value === "object" ? Object.values(value).join(" ") : String(value)).replace("<->", "↔").replace("->", "→");
}
