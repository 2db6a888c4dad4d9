/** Describes the effect of a command before it is sent: its declared text, and what depends on the present state. */

import { protocolOf } from "../protocols/table.js";
import { commandsOf } from "./commands.js";

/**
 * @param {object} command as it would be sent; arguments that are not chosen yet may be missing
 * @param {import("./state.js").LabState} state
 * @param {object} watched
 * @returns {string} what will happen, "" for a command without a declaration
 */
export function consequencesOf(command, state, watched) {
  const declared = commandsOf(state)[command.do];
  const protocol = protocolOf(state);
  if (!declared || !protocol) return "";
  const words = wordsOf(declared.consequence, command);
  const parts = protocol.live_consequences?.[command.do]?.(words, command, state, watched) ?? [words];
  return parts.filter(Boolean).join(" ");
}

/** @param {import("./commands.js").Text} text @param {object} command */
function wordsOf(text, command) {
  if (typeof text === "string") return filled(text, command);
  if (Array.isArray(text)) return text.map((part) => wordsOf(part, command)).join("");
  const value = String(command[text.when] ?? "");
  return wordsOf(Object.hasOwn(text.texts, value) ? text.texts[value] : text.otherwise, command);
}

/** A missing argument becomes "the" and its name, or the text after the bar. It is capitalised at the start of a sentence. */
function filled(text, command) {
  return text.replace(/\{([^|}]+)\|?([^}]*)\}/g, (_, name, missing, at) => {
    const value = [command[name] ?? []].flat().join(", ");
    if (value !== "") return value;
    const words = missing || `the ${name}`;
    return at === 0 || text.slice(at - 2, at) === ". " ? words[0].toUpperCase() + words.slice(1) : words;
  });
}
