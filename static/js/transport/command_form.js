/** The dialog for commands with arguments: offers every declared command, with choices from the lab's own names. */

import { allOf, element, found, required } from "../render/dom.js";
import { commandOf, commandsOf } from "../model/commands.js";
import { consequencesOf } from "../model/consequences.js";
import { capitalised, seconds } from "../model/format.js";
import { protocolOf } from "../protocols/table.js";
import { choicesOf, fieldOf, hintOf } from "./command_fields.js";

/**
 * @param {Document} document
 * @param {HTMLDialogElement} dialog
 * @param {{getState: () => import("../model/state.js").LabState, getWatched: () => any, onCommand: (command: object) => void}} on
 */
export function makeCommandForm(document, dialog, { getState, getWatched, onCommand }) {
  const title = required(dialog, "[data-part=form-title]");
  const chooser = required(dialog, "select[data-part=form-command]");
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
  dialog.addEventListener("input", describe);
  dialog.addEventListener("change", describe);

  function read() {
    /** @type {Object<string, string | boolean>} */
    const given = {};
    for (const field of /** @type {HTMLInputElement[]} */ (allOf(fields, "[name]"))) given[field.name] = field.type === "checkbox" ? field.checked : field.value.trim();
    return commandOf(getState(), chooser.value, given);
  }

  function describe() {
    const words = consequencesOf(read(), getState(), getWatched());
    says.textContent = words && `At ${seconds(getState().at_us)} s: ${words}`;
  }

  function fill(name, preset) {
    const command = commandsOf(getState())[name];
    title.textContent = capitalised(command.label);
    fields.replaceChildren(...command.arguments.map((argument) => fieldOf(document, argument, preset[argument.name], { choices: choicesOf(argument, getState(), getWatched()), hint: hintOf(argument.kind, getState()) })));
    describe();
  }

  return {
    /** @param {string} [name] of the command that is chosen initially @param {object} [preset] its arguments */
    show(name, preset = {}) {
      const protocol = protocolOf(getState());
      if (!protocol) return;
      const first = name ?? protocol.first_command;
      chooser.replaceChildren(...Object.entries(commandsOf(getState())).map(([one, command]) => element(document, "option", { value: one, text: `${command.label}  ·  ${one}` })));
      chooser.value = first;
      fill(first, preset);
      dialog.showModal();
      found(fields, "input, select")?.focus();
    },
  };
}
