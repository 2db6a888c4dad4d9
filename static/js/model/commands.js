/**
 * Every command that a person may give, as the page's forms need it: arguments with their kind, whether they must be given,
 * and their initial values. Each protocol has its own. tests/js/test_tables.py asserts that they equal the simulator's table.
 */

import { PROTOCOLS } from "../protocols/table.js";

/** @typedef {{name: string, kind: string, required?: boolean, choices?: string[], begin?: string | number | boolean}} Argument */
/** @typedef {{says: string, arguments: Argument[]}} Command */

/** @type {Object<string, Command>} */
export const COMMANDS = Object.assign({}, ...PROTOCOLS.map(({ commands }) => commands));

/**
 * A command out of a form's texts: empty ones are left out, numbers and lists become what they are.
 * @param {string} name
 * @param {Object<string, string | boolean>} given
 * @returns {object} as the socket takes it
 */
export function commandOf(name, given) {
  const command = { do: name };
  for (const argument of COMMANDS[name].arguments) {
    const value = given[argument.name];
    if (value === undefined || value === "" || (value === false && !argument.required && argument.begin === undefined)) continue;
    command[argument.name] = valueOf(argument.kind, value);
  }
  return command;
}

function valueOf(kind, value) {
  if (kind === "integer") return Number.isFinite(Number(value)) ? Number(value) : value;
  if (["messages", "names", "addresses"].includes(kind)) return String(value).split(/[\s,]+/).filter(Boolean);
  if (kind === "setting-value" && /^(true|false)$/.test(value)) return value === "true";
  if (kind === "setting-value" && /^-?\d+$/.test(value)) return Number(value);
  return value;
}
