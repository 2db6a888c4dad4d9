/** Chooses the failover or group that a panel shows: the newest one that the lab has reached, until the viewer chooses another. */

import { element } from "./dom.js";

/** @param {{at_us: number}[]} cases of the branch, in order @param {number | null} chosen @returns {number} */
export function chosenCase(cases, chosen, state) {
  if (chosen !== null && chosen < cases.length) return chosen;
  const reached = cases.findLastIndex((one) => one.at_us <= state.at_us);
  return reached < 0 ? cases.length - 1 : reached;
}

/** @param {string} noun name of the cases @param {string[]} labels @returns {HTMLElement[]} a select in its line; empty when there is nothing to choose */
export function caseChooser(document, noun, labels, number, onChoose) {
  if (labels.length < 2) return [];
  const options = labels.map((text, at) => element(document, "option", { value: at, selected: at === number, text }));
  const select = element(document, "select", { "aria-label": `Which ${noun}`, onchange: (event) => onChoose(Number(event.target.value)) }, options);
  return [element(document, "p", {}, [element(document, "label", {}, [`${noun} `, select])])];
}
