/** A run that was recorded on real brokers: what the page says about it, and what it does not offer there. */

/** @typedef {{system: string, date: string, measured: string[], inferred: string[], beside: string}} Recorded the texts are empty when the recording is missing; `beside` is the address of the comparison with the simulator */

/** @returns {Recorded | null} null for a simulated run */
export const recordedIn = (state) => state.welcome?.recorded ?? null;

const source = ({ system, date }) => [system, date].filter(Boolean).join(", ");

/** @param {Recorded} recorded @returns {string} the line under the headline */
export const originOf = (recorded) => (source(recorded) ? `Recorded on real brokers: ${source(recorded)}.` : "Recorded on real brokers.");

/** @param {Recorded} recorded @returns {string} the answer to every attempt at a command */
export const refusalOf = (recorded) => `This run was recorded on real brokers${source(recorded) ? ` (${source(recorded)})` : ""}. It can be played and searched, but takes no commands.`;

/** The groups of a menu with only the items that show something. @template {{items: {look?: object}[]}} G @param {G[]} groups @returns {G[]} */
export const withoutCommands = (groups) => groups.map((group) => ({ ...group, items: group.items.filter(({ look }) => look) })).filter(({ items }) => items.length > 0);

/** Actions of keys that a recorded run does not have. */
export const NO_COMMANDS = ["breakSomething", "failOver", "anyCommand", "undo", "branches"];
