/**
 * Builds the text view: the content of the diagram as headings and lists of plain sentences.
 * It is for screen readers and for viewers who press T. It depends on the state alone, so it cannot differ from the picture.
 */

import { protocolOf } from "../protocols/table.js";
import { seconds } from "./format.js";
import { plainSentence, sentenceOf } from "./sentence.js";

/**
 * @param {import("./state.js").LabState} state
 * @param {object} watched
 * @returns {{title: string, lines: string[]}[]}
 */
export function mirrorOf(state, watched) {
  if (!state.view || !watched) return [];
  const head = { title: `At ${seconds(state.at_us)} s`, lines: [plainSentence(sentenceOf(state, watched)), state.playing ? `Playing at ${state.speed} times real time.` : "Paused."] };
  return [head, ...protocolOf(state).mirror(state, watched)];
}
