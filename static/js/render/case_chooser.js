/** Which of several failovers or groups a panel is about: the newest that the lab has come to, until a person chooses another. */

import { element } from "./dom.js";

/** @param {{at_us: number}[]} cases of the branch, in order @param {number | null} chosen @returns {number} */
export function chosenCase(cases, chosen, state) {
  if (chosen !== null && chosen < cases.length) return chosen;
  const reached = cases.findLastIndex((one) => one.at_us <= state.at_us);
  return reached < 0 ? cases.length - 1 : reached;
}

/** @param {string} noun what they are @param {string[]} labels @returns {HTMLElement[]} a select in its line; nothing while there is nothing to choose */
export function caseChooser(document, noun, labels, number, onChoose) {
  if (labels.length < 2) return [];
  const options = labels.map((text, at) => element(document, "option", { value: at, selected: at === number, text }));
  const select = element(document, "select", { "aria-label": `Which ${noun}`, onchange: (event) => onChoose(Number(event.target.value)) }, options);
  return [element(document, "p", {}, [element(document, "label", {}, [`${noun} `, select])])];
}
