/**
 * The headline sentence of the page, as parts: plain text, {strong}, {harm}, {soft} and {pick}.
 * {pick} is the target, which the viewer may change. Every figure is counted by the engine, none is derived from the drawing.
 */

import { protocolOf } from "../protocols/table.js";

/** @typedef {import("./format.js").TextPart} Part */

/**
 * @param {import("./state.js").LabState} state
 * @param {object | null} watched
 * @returns {Part[]}
 */
export function sentenceOf(state, watched) {
  return state.view && watched ? protocolOf(state).sentence(state, watched) : ["Connecting…"];
}

/** @returns {Part[] | null} the line under the sentence, where the protocol has one */
export const secondSentence = (state, watched) => (state.view && watched ? (protocolOf(state).secondSentence?.(state, watched) ?? null) : null);

/** @returns {string} the parts as one plain sentence, for the live region and the title */
export const plainSentence = (parts) => parts.map((part) => (typeof part === "string" ? part : (part.strong ?? part.harm ?? part.soft ?? part.pick))).join("");
