/** Which failover a panel is about: the newest that the lab has come to, until a person chooses another. */

import { seconds } from "../model/format.js";
import { element } from "./dom.js";

/** @param {{at_us: number, subscription: string}[]} failovers of the branch, in order @param {number | null} chosen @returns {number} */
export function chosenFailover(failovers, chosen, state) {
  if (chosen !== null && chosen < failovers.length) return chosen;
  const reached = failovers.findLastIndex((one) => one.at_us <= state.at_us);
  return reached < 0 ? failovers.length - 1 : reached;
}

/** @returns {HTMLElement[]} a select in its line; nothing while there is nothing to choose */
export function failoverChooser(document, failovers, number, onChoose) {
  if (failovers.length < 2) return [];
  const options = failovers.map((one, at) => element(document, "option", { value: at, selected: at === number, text: `${seconds(one.at_us)} s: ${one.subscription} from ${one.from} to ${one.to}` }));
  const select = element(document, "select", { "aria-label": "Which failover", onchange: (event) => onChoose(Number(event.target.value)) }, options);
  return [element(document, "p", {}, [element(document, "label", {}, ["failover ", select])])];
}
