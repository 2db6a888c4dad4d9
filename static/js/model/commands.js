/** The commands that a person may give in a lab, as the server's welcome declares them: names for menus, arguments for forms, and what each will do. */

/** @typedef {{name: string, kind: string, required?: boolean, choices?: string[], begin?: string | number | boolean}} Argument */
/**
 * @typedef {object} When
 * @property {string} when an argument
 * @property {{[value: string]: Text}} texts by its value, "" while it is not chosen
 * @property {Text} otherwise
 */
/** @typedef {string | When | any[]} Text a list holds texts; `simulator/scenarios/consequence.py` says what each means */
/** @typedef {{label: string, consequence: Text, arguments: Argument[]}} Command */

/** @returns {Object<string, Command>} by name, in the order of docs/scenarios.md; none before the welcome */
export const commandsOf = (state) => state.welcome?.tables?.commands ?? {};

/**
 * A command out of a form's texts: empty ones are left out, numbers and lists become what they are.
 * @param {import("./state.js").LabState} state
 * @param {string} name
 * @param {Object<string, string | boolean>} given
 * @returns {object} as the socket takes it
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

function valueOf(kind, value) {
  if (kind === "integer") return Number.isFinite(Number(value)) ? Number(value) : value;
  if (["messages", "names", "addresses"].includes(kind)) return String(value).split(/[\s,]+/).filter(Boolean);
  if (kind === "setting-value" && /^(true|false)$/.test(value)) return value === "true";
  if (kind === "setting-value" && /^-?\d+$/.test(value)) return Number(value);
  return value;
}
