/** The fields of the set-up's form: pairs of names, choices of a name, fields that apply, problems at their fields. It never changes typed text. */

import { allOf, element, found, required } from "../render/dom.js";

/**
 * @param {Document} document
 * @param {HTMLFormElement} form
 * @param {HTMLElement | null} pairs contains a field for each pair of names, where the form has pairs
 */
export function makeFields(document, form, pairs) {
  /** @returns {any} the field of this name: an input or a select */
  const fieldOf = (name) => (name ? form.elements.namedItem(name) : null);

  function takePairs(wanted) {
    if (!pairs) return;
    const there = new Map([.../** @type {Iterable<HTMLElement>} */ (pairs.children)].map((box) => [box.dataset.field, box]));
    if (wanted.length === there.size && wanted.every(({ name }) => there.has(name))) return;
    pairs.replaceChildren(...wanted.map((pair) => there.get(pair.name) ?? pairField(document, pair)));
  }

  /** A chosen name that the form no longer has stays in the list, so that the choice is not lost; the loader reports the problem. */
  function takeNames(select, names, value) {
    const offered = names.includes(value) ? names : [...names, value];
    if ([...select.options].map((option) => option.value).join("\n") !== offered.join("\n")) {
      select.replaceChildren(...offered.map((name) => element(document, "option", { value: name, text: name })));
    }
    select.value = value;
  }

  function writeProblems(box, problems) {
    const note = required(box, ".note");
    const field = found(box, "input, select");
    const words = problems.map((problem) => `${problem.message}; ${problem.hint}`);
    if (words.length) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
    const shown = [...note.querySelectorAll("[data-part=problem]")];
    if (shown.map((one) => one.textContent).join("\n") === words.join("\n")) return;
    for (const one of shown) one.remove();
    note.append(...words.map((text) => element(document, "span.harm-text", { "data-part": "problem", text })));
  }

  /** A field that applies only with some values of another one is disabled with the others. */
  function enable() {
    for (const field of /** @type {Iterable<HTMLInputElement>} */ (form.elements)) {
      const { when, enabling } = field.dataset;
      if (when) field.disabled = !enabling.split(" ").includes(fieldOf(when).value);
    }
  }

  enable();
  return {
    /** Only the values that differ from their defaults: addresses stay short, and defaults may follow the regions. */
    query() {
      const given = new URLSearchParams();
      for (const field of /** @type {Iterable<HTMLInputElement>} */ (form.elements)) if (field.name && field.value !== field.dataset.default) given.append(field.name, field.value);
      return given.toString();
    },
    /** Shows the result of the server's reading: pairs, names, and problems at their fields. */
    take(reading) {
      takePairs(reading.pairs);
      for (const [name, value] of Object.entries(reading.named)) takeNames(fieldOf(name), reading.names, value);
      for (const box of allOf(form, ".set-field")) writeProblems(box, reading.problems.filter((problem) => problem.field === box.dataset.field));
      enable();
    },
    focus: (name) => fieldOf(name)?.focus(),
  };
}

function pairField(document, { name, between: [one, other], value, default: usual }) {
  const id = `field-${name}`;
  return element(document, "div.set-field", { "data-field": name }, [
    element(document, "label", { for: id, text: `${one} and ${other}` }),
    element(document, "input", { id, name, value, "data-default": usual, "aria-describedby": `note-${name}`, autocomplete: "off", spellcheck: "false" }),
    element(document, "p.note", { id: `note-${name}` }, [element(document, "span.quiet", { "data-part": "hint" })]),
  ]);
}
