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
  return { does: command.label, to: named.map((argument) => valueWords(argument.name, given)).filter(Boolean).join(", ") };
}

function valueWords(name, given) {
  if (given[`${name}_us`] !== undefined) return span(given[`${name}_us`]);
  const value = given[name] ?? "";
  return (typeof value === "object" ? Object.values(value).join(" ") : String(value)).replace("<->", "↔").replace("->", "→");
}
