/**
 * The commands of a lab as the server's welcome declares them.
 * A declaration contains the label for menus, the arguments for forms and the text of the consequence.
 */

/** @typedef {{name: string, kind: string, required?: boolean, choices?: string[], begin?: string | number | boolean}} Argument */
/**
 * @typedef {object} When
 * @property {string} when an argument
 * @property {{[value: string]: Text}} texts by the argument's value, "" while none is chosen
 * @property {Text} otherwise
 */
/** @typedef {string | When | any[]} Text a list is a concatenation of texts; `simulator/scenarios/consequence.py` defines the meaning of each form */
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
