/** Describes a command in words: what it does and to what, for lists of events and of branches. */

import { commandsOf } from "./commands.js";
import { span } from "./format.js";

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
 * @param {import("./commands.js").Argument} argument
 * @param {Object<string, any>} given
 */
function valueWords({ name, choices }, given) {
  if (given[`${name}_us`] !== undefined) return span(given[`${name}_us`]);
  const value = given[name] ?? "";
  if (choices) return String(value).replaceAll("_", " ");
  return (typeof value === "object" ? Object.values(value).join(" ") : String(value)).replace("<->", "↔").replace("->", "→");
}
