/** The effect of a command in words, before it is given: each protocol words its own commands, from the present state. */

import { PROTOCOLS, protocolOf } from "../protocols/table.js";

/** Commands that have words here. */
export const EXPLAINED = [...new Set(PROTOCOLS.flatMap(({ consequences }) => Object.keys(consequences)))];

/**
 * @param {object} command as it would be given; what is not chosen yet may be missing
 * @param {import("./state.js").LabState} state
 * @param {object} watched
 * @returns {string} what will happen, "" for a command that nothing is known of
 */
export function consequencesOf(command, state, watched) {
  const parts = protocolOf(state)?.consequences[command.do]?.(command, state, watched) ?? [];
  return parts.filter(Boolean).join(" ");
}
