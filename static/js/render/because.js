/** The causes of a row of the list: the chain back to its root, requested from the server and shown under the row. */

import { seconds } from "../model/format.js";
import { element, putParts } from "./dom.js";

/** Number of causes shown; the root is always among them. */
const SHOWN = 7;

/**
 * @param {Document} document
 * @param {object} answer of `/labs/<id>/row/<seq>.json`: `row`, and its causes nearest first
 * @param {(row: object) => Array<string | object>} wordsOfRow
 * @param {{says: string, act: () => void}[]} acts_of_row actions that are offered for the row
 */
export function causeNodes(document, answer, wordsOfRow, acts_of_row) {
  const row = answer.row ?? answer;
  const causes = (answer.causes ?? []).filter((one) => one.seq !== row.seq);
  const shown = causes.length > SHOWN ? [...causes.slice(0, SHOWN - 1), causes[causes.length - 1]] : causes;
  const lines = shown.map((cause) => {
    const words = element(document, "span");
    putParts(document, words, wordsOfRow(cause));
    return element(document, "li", {}, [element(document, "time", { text: seconds(cause.at_us) }), words]);
  });
  const acts = acts_of_row.map(({ says, act }) => element(document, "button.plain", { type: "button", text: says, onclick: act }));
  return element(document, "div.because", {}, [
    causes.length ? element(document, "b", { text: "caused by" }) : element(document, "span.quiet", { text: "No earlier cause." }),
    element(document, "ol", {}, lines),
    element(document, "p.acts", {}, acts),
  ]);
}
