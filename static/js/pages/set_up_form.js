/**
 * The form, live: whatever is typed is read by the server a moment later; its YAML, its problems at their fields, the pairs of
 * regions and the address follow. Nothing that was typed is ever changed.
 */

import { element, required, setText } from "../render/dom.js";
import { lightPieces, writeYaml } from "../render/yaml.js";
import { soonest } from "./soonest.js";

/** ms after the last keystroke */
const PAUSE_MS = 180;

export function makeForm({ document, root, window, requests, address, first, lines, onReading, onTrouble }) {
  const form = required(root, "[data-part=form]");
  const pre = required(root, "[data-part=yaml]");
  const pairs = required(root, "[data-part=pairs]");
  let reading = first;
  let yaml = pre.textContent;
  const fieldOf = (name) => (name ? form.elements.namedItem(name) : null);
  const read = soonest(window, PAUSE_MS, () => requests.get(`${address}?${query()}`), taken, onTrouble);

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    window.history.replaceState(null, "", query() ? `?${query()}` : window.location.pathname);
    read();
  });
  form.addEventListener("focusin", (event) => lightPieces(pre, event.target.name));
  form.addEventListener("focusout", () => lightPieces(pre, null));
  pre.addEventListener("click", (event) => fieldOf(event.target.dataset?.piece)?.focus());
  writeYaml(document, pre, lines, wrongFields(first));
  onlyWhenCrashing();

  /** What differs from its default: short addresses, and a default that follows the regions. */
  function query() {
    const given = new window.URLSearchParams();
    for (const field of form.elements) if (field.name && field.value !== field.dataset.default) given.append(field.name, field.value);
    return given.toString();
  }

  function taken(answer) {
    reading = answer;
    yaml = answer.yaml;
    takePairs(answer.pairs);
    for (const name of ["from", "to"]) takeRegions(fieldOf(name), answer.regions, answer[name]);
    writeYaml(document, pre, answer.lines, wrongFields(answer));
    lightPieces(pre, document.activeElement?.form === form ? document.activeElement.name : null);
    for (const box of form.querySelectorAll(".set-field")) writeProblems(box, answer.problems.filter((problem) => problem.field === box.dataset.field));
    onlyWhenCrashing();
    onReading(answer);
  }

  function takePairs(wanted) {
    const there = new Map([...pairs.children].map((box) => [box.dataset.field, box]));
    if (wanted.length === there.size && wanted.every(({ name }) => there.has(name))) return;
    pairs.replaceChildren(...wanted.map(({ name, between, value }) => there.get(name) ?? pairField(name, between, value)));
  }

  function pairField(name, [one, other], value) {
    const id = `field-${name}`;
    return element(document, "div.set-field", { "data-field": name }, [
      element(document, "label", { for: id, text: `${one} and ${other}` }),
      element(document, "input", { id, name, value, "data-default": value, "aria-describedby": `note-${name}`, autocomplete: "off", spellcheck: "false" }),
      element(document, "p.note", { id: `note-${name}` }, [element(document, "span.quiet", { "data-part": "hint" })]),
    ]);
  }

  /** A choice that is no region any more stays, so that nothing is lost; the loader says that it is none. */
  function takeRegions(select, regions, value) {
    const offered = regions.includes(value) ? regions : [...regions, value];
    if ([...select.options].map((option) => option.value).join("\n") !== offered.join("\n")) {
      select.replaceChildren(...offered.map((name) => element(document, "option", { value: name, text: name })));
    }
    select.value = value;
  }

  function writeProblems(box, problems) {
    const note = required(box, ".note");
    const field = box.querySelector("input, select");
    const words = problems.map((problem) => `${problem.message}; ${problem.hint}`);
    if (words.length) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
    const shown = [...note.querySelectorAll("[data-part=problem]")];
    if (shown.map((one) => one.textContent).join("\n") === words.join("\n")) return;
    for (const one of shown) one.remove();
    note.append(...words.map((text) => element(document, "span.harm-text", { "data-part": "problem", text })));
  }

  /** How long until somebody moves them is a question of crashes only. */
  function onlyWhenCrashing() {
    const crash = fieldOf("how").value === "crash";
    fieldOf("after").disabled = !crash;
    setText(required(form, "[data-field=from] label"), crash ? "This region goes down" : "Consumers leave");
  }

  return {
    yaml: () => yaml,
    reading: () => reading,
    goTo: (problem) => fieldOf(problem.field)?.focus(),
  };
}

const wrongFields = (reading) => new Set(reading.problems.map((problem) => problem.field).filter(Boolean));
