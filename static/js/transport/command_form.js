/** The dialog for commands with arguments: any command from the catalogue, its fields chosen from the lab's own names. */

import { element, required } from "../render/dom.js";
import { COMMANDS, commandOf } from "../model/commands.js";
import { consequencesOf } from "../model/consequences.js";
import { capitalised, seconds } from "../model/format.js";
import { lanesOf, topicsOf, subscriptionsOf } from "../model/state.js";

const HINTS = {
  duration: "such as 300ms or 2s",
  distribution: "such as 200ms",
  share: "such as 5%",
  messages: "such as web/5, web/7",
  names: "such as us-west, us-east",
  position: "ledger:entry, earliest or latest",
  address: "a topic's name",
  addresses: "names of topics",
  integer: "a whole number",
  "setting-name": "Pulsar's own name",
  "setting-value": "its new value",
  namespace: "tenant/namespace",
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
  chooser.replaceChildren(...Object.entries(COMMANDS).map(([name, command]) => element(document, "option", { value: name, text: `${command.says}  ·  ${name}` })));
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
      : element(document, "input", { name: argument.name, required: argument.required, placeholder: HINTS[argument.kind] ?? "", autocomplete: "off", value: String(begin) });
    return element(document, "label.field", {}, [element(document, "span", { text: label }), input]);
  }

  function choicesOf(argument) {
    const state = getState();
    const watched = getWatched();
    const names = state.welcome?.names ?? {};
    const clusters = lanesOf(state);
    switch (argument.kind) {
      case "choice":
        return argument.choices;
      case "cluster":
        return clusters;
      case "topic":
        return names.topics ?? topicsOf(state);
      case "topic-or-partition":
        return topicsOf(state);
      case "broker":
        return Object.keys(state.view?.brokers ?? {});
      case "subscription":
        return names.subscriptions ?? subscriptionsOf(state, watched.topic);
      case "consumer":
        return names.consumers ?? null;
      case "node":
        return names.nodes ?? clusters;
      case "session":
        return names.sessions ?? null;
      case "publisher":
        return names.publishers ?? null;
      case "subscription-filter":
        return [...new Set(Object.values(state.view?.groups ?? {}).map(({ text }) => text))];
      case "tenant":
        return Object.keys(state.view?.lookup?.tenants ?? {});
      case "producer":
        return names.producers ?? Object.keys(state.view?.producers ?? {});
      case "client":
        return [...(names.consumers ?? []), ...(names.producers ?? [])];
      case "link":
        return clusters.flatMap((a, at) => clusters.slice(at + 1).flatMap((b) => [`${a} <-> ${b}`, `${a} -> ${b}`, `${b} -> ${a}`]));
      default:
        return null;
    }
  }

  return {
    show(name = "producer.publish", preset = {}) {
      chooser.value = name;
      fill(name, preset);
      dialog.showModal();
      fields.querySelector("input, select")?.focus();
    },
  };
}
