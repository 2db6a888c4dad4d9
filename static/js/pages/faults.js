/** The menus and the form that send faults and commands, opened by click or key. Each shows its effect beforehand. */

import { commandOf, commandsOf } from "../model/commands.js";
import { capitalised, seconds } from "../model/format.js";
import { lanesOf, recordedIn, refusalOf, withoutCommands } from "../model/state.js";
import { protocolOf } from "../protocols/table.js";
import { allOf, element, found, required } from "../render/dom.js";
import { makeMenu } from "../transport/menu.js";

/** Describes the effect of a command before it is sent: its declared text, and what depends on the present state. */

/**
 * @param {object} command as it would be sent; arguments that are not chosen yet may be missing
 * @param {import("../model/state.js").LabState} state
 * @param {object} watched
 * @returns {string} what will happen, "" for a command without a declaration
 */
export function consequencesOf(command, state, watched) {
  const declared = commandsOf(state)[command.do];
  const protocol = protocolOf(state);
  if (!declared || !protocol) return "";
  const words = wordsOf(declared.consequence, command);
  const parts = protocol.live_consequences?.[command.do]?.(words, command, state, watched) ?? [words];
  return parts.filter(Boolean).join(" ");
}

/** @param {import("../model/commands.js").Text} text @param {object} command */
function wordsOf(text, command) {
  if (typeof text === "string") return filled(text, command);
  if (Array.isArray(text)) return text.map((part) => wordsOf(part, command)).join("");
  const value = String(command[text.when] ?? "");
  return wordsOf(Object.hasOwn(text.texts, value) ? text.texts[value] : text.otherwise, command);
}

/** A missing argument becomes "the" and its name, or the text after the bar. It is capitalised at the start of a sentence. */
function filled(text, command) {
  return text.replace(/\{([^|}]+)\|?([^}]*)\}/g, (_, name, missing, at) => {
    const value = [command[name] ?? []].flat().join(", ");
    if (value !== "") return value;
    const words = missing || `the ${name}`;
    return at === 0 || text.slice(at - 2, at) === ". " ? words[0].toUpperCase() + words.slice(1) : words;
  });
}

/** Makes the fields of a command's arguments: a choice among names of the lab where there are some, else a text field. */

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

/** The dialog for commands with arguments: offers every declared command, with choices from the lab's own names. */

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

/** The protocol provides `failOver` (key O) and `look` (shows the thing of a menu item in the inspector). */
export function makeFaults({ document, root, link, getState, getWatched, failOver, look, say }) {
  const form = makeCommandForm(document, required(root, "dialog[data-part=command-dialog]"), { getState, getWatched, onCommand: give });
  const menu = makeMenu(document, required(root, "[data-part=menu-home]"), choose, wordsOf);
  const break_button = required(root, "[data-act=break]");
  /** The action for simulated runs; in a recorded one it says why there are no commands. */
  const simulated = (act) => () => (recordedIn(getState()) ? refuse() : act());
  const acts = {
    breakSomething: simulated(() => getState().view && menu.show(protocolOf(getState()).breakMenu(getState(), getWatched()), break_button)),
    failOver: simulated(() => getState().view && failOver()),
    anyCommand: simulated(() => form.show()),
  };
  break_button.addEventListener("click", acts.breakSomething);
  required(root, "[data-act=fail-over]").addEventListener("click", acts.failOver);

  function refuse() {
    say({ error: refusalOf(recordedIn(getState())), tone: "plain" });
  }

  /** Shows a menu of a thing; in a recorded run only its items that show something. */
  function show(groups, anchor) {
    const shown = recordedIn(getState()) ? withoutCommands(groups) : groups;
    if (shown.length) menu.show(shown, anchor);
    else refuse();
  }

  /** Sends a command on a new branch, so that Z undoes it. */
  function give(command) {
    link.command(command, { apart: true });
  }

  function choose(item) {
    if (item.command && item.before_us !== undefined) giveBefore(item);
    else if (item.command) give(item.command);
    else if (item.form) form.show(item.form.name, item.form.preset);
    else if (item.look) look(item.look);
    else acts[item.act]();
  }

  /** Sends a command for an earlier instant, at which the message in flight was sent, and `then` perhaps another one, and seeks to the present instant of the new branch. */
  function giveBefore({ command, before_us, then }) {
    const { at_us, playing } = getState();
    if (playing) link.pause();
    if (!link.seek(Math.max(0, before_us - 1))) return;
    give(command);
    if (then && link.seek(then.at_us)) link.command(then.command);
    link.seek(at_us);
  }

  function wordsOf(item) {
    if (item.words) return item.words;
    if (item.command) return `${consequencesOf(item.command, getState(), getWatched())}${item.before_us === undefined ? "" : " Given just before it left, on a branch."}`;
    if (item.form) return consequencesOf({ do: item.form.name, ...item.form.preset }, getState(), getWatched());
    return item.act === "failOver" ? "Choose source, target and mode; the dialog shows the cost before you confirm." : "All commands and their effects.";
  }

  /** `state` is the state that an open dialog shows; without one, the present state. */
  return { acts, menus: { show, state: getState, give, giveBefore: (item) => simulated(() => giveBefore(item))(), breakSomething: acts.breakSomething } };
}
