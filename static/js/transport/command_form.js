/** The dialog for commands with arguments: any command from the catalogue, its fields chosen from the lab's own names. */

import { element, required } from "../render/dom.js";
import { COMMANDS, commandOf } from "../model/commands.js";
import { consequencesOf } from "../model/consequences.js";
import { capitalised, seconds } from "../model/format.js";
import { lanesOf } from "../model/state.js";
import { protocolOf } from "../protocols/table.js";

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
 * @param {HTMLDialogElement} dialog
 * @param {{getState: () => object, getWatched: () => object, onCommand: (command: object) => void}} on
 */
export function makeCommandForm(document, dialog, { getState, getWatched, onCommand }) {
  const title = required(dialog, "[data-part=form-title]");
  const chooser = required(dialog, "[data-part=form-command]");
  const fields = required(dialog, "[data-part=form-fields]");
  const says = required(dialog, "[data-part=form-says]");
  chooser.addEventListener("change", () => fill(chooser.value, {}));
  required(dialog, "[data-act=form-cancel]").addEventListener("click", () => dialog.close());
  required(dialog, "form").addEventListener("submit", (event) => {
    event.preventDefault();
    const command = read();
    dialog.close();
    onCommand(command);
  });
  dialog.addEventListener("input", tell);
  dialog.addEventListener("change", tell);

  function read() {
    const given = {};
    for (const field of fields.querySelectorAll("[name]")) given[field.name] = field.type === "checkbox" ? field.checked : field.value.trim();
    return commandOf(chooser.value, given);
  }

  function tell() {
    const words = consequencesOf(read(), getState(), getWatched());
    says.textContent = words && `At ${seconds(getState().at_us)} s: ${words}`;
  }

  function fill(name, preset) {
    title.textContent = capitalised(COMMANDS[name].says);
    fields.replaceChildren(...COMMANDS[name].arguments.map((argument) => fieldOf(argument, preset[argument.name])));
    tell();
  }

  function fieldOf(argument, preset) {
    const choices = choicesOf(argument);
    const begin = preset ?? argument.begin ?? "";
    const label = `${argument.name}${argument.required ? "" : " (may be left out)"}`;
    if (argument.kind === "boolean") {
      const box = element(document, "input", { type: "checkbox", name: argument.name });
      box.checked = begin === true;
      return element(document, "label.field.check", {}, [box, element(document, "span", { text: argument.name })]);
    }
    const input = choices
      ? element(document, "select", { name: argument.name }, [...(argument.required ? [] : [""]), ...choices].map((one) => element(document, "option", { value: one, text: one === "" ? "any" : one, selected: one === begin })))
      : element(document, "input", { name: argument.name, required: argument.required, placeholder: hintOf(argument.kind), autocomplete: "off", value: String(begin) });
    return element(document, "label.field", {}, [element(document, "span", { text: label }), input]);
  }

  const hintOf = (kind) => HINTS[kind] ?? protocolOf(getState()).hints?.[kind] ?? "";

  function choicesOf({ kind, choices }) {
    const state = getState();
    const clusters = lanesOf(state);
    if (kind === "choice") return choices;
    if (kind === "cluster") return clusters;
    if (kind === "link") return clusters.flatMap((a, at) => clusters.slice(at + 1).flatMap((b) => [`${a} <-> ${b}`, `${a} -> ${b}`, `${b} -> ${a}`]));
    return protocolOf(state).argument_choices[kind]?.(state, getWatched()) ?? null;
  }

  return {
    /** @param {string} [name] of the command that is chosen first @param {object} [preset] its arguments */
    show(name, preset = {}) {
      const protocol = protocolOf(getState());
      if (!protocol) return;
      const first = name ?? protocol.first_command;
      chooser.replaceChildren(...Object.entries(protocol.commands).map(([one, command]) => element(document, "option", { value: one, text: `${command.says}  ·  ${one}` })));
      chooser.value = first;
      fill(first, preset);
      dialog.showModal();
      fields.querySelector("input, select")?.focus();
    },
  };
}
