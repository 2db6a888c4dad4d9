/** Makes the fields of a command's arguments: a choice among names of the lab where there are some, else a text field. */

import { lanesOf } from "../model/state.js";
import { protocolOf } from "../protocols/table.js";
import { element } from "../render/dom.js";

const HINTS = {
  duration: "such as 300ms or 2s",
  distribution: "such as 200ms",
  share: "such as 5%",
  names: "such as us-west, us-east",
  address: "a topic's name",
  addresses: "names of topics",
  integer: "a whole number",
  "setting-value": "its new value",
};

/**
 * @param {Document} document
 * @param {{name: string, kind: string, required?: boolean, begin?: any, choices?: string[]}} argument
 * @param {any} preset initial value, if known
 * @param {{choices: string[] | null, hint: string}} offered results of `choicesOf` and `hintOf`
 */
export function fieldOf(document, argument, preset, { choices, hint }) {
  const begin = preset ?? argument.begin ?? "";
  const label = `${argument.name}${argument.required ? "" : " (optional)"}`;
  if (argument.kind === "boolean") {
    const box = element(document, "input", { type: "checkbox", name: argument.name });
    box.checked = begin === true;
    return element(document, "label.field.check", {}, [box, element(document, "span", { text: argument.name })]);
  }
  const input = choices
    ? element(document, "select", { name: argument.name }, [...(argument.required ? [] : [""]), ...choices].map((one) => element(document, "option", { value: one, text: one === "" ? "any" : one, selected: one === begin })))
    : element(document, "input", { name: argument.name, required: argument.required, placeholder: hint, autocomplete: "off", value: String(begin) });
  return element(document, "label.field", {}, [element(document, "span", { text: label }), input]);
}

/** @returns {string} an example of how an argument of this kind is written */
export const hintOf = (kind, state) => HINTS[kind] ?? protocolOf(state).hints?.[kind] ?? "";

/**
 * @param {{name: string, kind: string, choices?: string[]}} argument
 * @param {import("../model/state.js").LabState} state
 * @param {any} watched
 * @returns {string[] | null} null when the argument is to be typed
 */
export function choicesOf({ kind, choices }, state, watched) {
  const clusters = lanesOf(state);
  if (kind === "choice") return choices;
  if (kind === "cluster") return clusters;
  if (kind === "link") return clusters.flatMap((a, at) => clusters.slice(at + 1).flatMap((b) => [`${a} <-> ${b}`, `${a} -> ${b}`, `${b} -> ${a}`]));
  return protocolOf(state).argument_choices[kind]?.(state, watched) ?? null;
}
