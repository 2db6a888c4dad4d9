/** The parts of the form of an experiment that depend on its kind and on the server's answer. */

import { debounced, makeRequests } from "../wire/http.js";
import { listOwn, saying, taskTokens } from "./tasks.js";
import { allOf, element, found, required, setText } from "../render/dom.js";
import { textOf } from "../wire/text_link.js";

/** Fields whose values are sent as they are typed. */
const TYPED = ["parameter", "values", "seeds", "phases", "measure", "at_most", "share", "confidence", "name", "name2"];

/**
 * @param {{document: Document, root: HTMLElement, window: import("../render/dom.js").PageWindow, onChange: () => void}} parts
 */
export function makeForm({ document, root, window, onChange }) {
  const form = required(root, "form[data-part=form]");
  const field = (name) => /** @type {HTMLInputElement} */ (form.elements.namedItem(name));
  const set_up = new URLSearchParams(window.location.search).has("from") ? "" : window.location.search.slice(1);
  let way = "parameter";

  for (const button of allOf(root, "[data-way]")) button.addEventListener("click", () => choose(button.dataset.way));
  form.addEventListener("submit", (event) => event.preventDefault()); // Enter in a field
  form.addEventListener("input", (event) => changed(/** @type {HTMLInputElement} */ (event.target).name));

  function choose(next) {
    way = next;
    showWay(root, way);
    onChange();
  }

  function changed(name) {
    if (name === "base" || name === "base2") showBase(name);
    if (name === "parameter" || name === "base") field("values").value = "";
    onChange();
  }

  function showBase(name) {
    const kind = field(name).value;
    required(root, `[data-part=${name}-own]`).hidden = kind !== "text";
    const words = set_up ? "with the values of the page that you came from. " : "with its initial values. ";
    const link = element(document, "a", { href: root.dataset.setUp + (set_up ? `?${set_up}` : ""), text: "View or change it" });
    required(root, `[data-part=${name}-note]`).replaceChildren(...(kind === "set-up" ? [words, link] : []));
  }

  const baseOf = (name) => ({ kind: field(name).value, query: set_up, text: field(`${name}_text`).value });

  return {
    /** Begins with the text of a scenario, if there is one, or with the experiment that the page has. @param {string | null} text */
    begin(text) {
      if (text !== null) {
        [field("base").value, field("base_text").value] = ["text", text];
      }
      for (const name of ["base", "base2"]) showBase(name);
      choose(field("yaml").value ? "yaml" : "parameter");
    },
    /** @returns {object} what the server reads */
    asked() {
      if (way === "yaml") return { way, yaml: field("yaml").value };
      const typed = Object.fromEntries(TYPED.map((name) => [name, field(name).value]).filter(([name, value]) => name !== "values" || value));
      return { way, base: baseOf("base"), base2: baseOf("base2"), late: field("late").checked, ...typed };
    },
    /** @param {any} answer of the server */
    take: (answer) => showAnswer(document, root, answer),
    /** Shows a text as an experiment's YAML. @param {string} yaml */
    edit(yaml) {
      field("yaml").value = yaml;
      choose("yaml");
      field("yaml").focus();
    },
  };
}

/** Shows the fields of one kind of experiment. @param {HTMLElement} root @param {string} way */
function showWay(root, way) {
  for (const button of allOf(root, "[data-way]")) button.setAttribute("aria-pressed", String(button.dataset.way === way));
  for (const part of allOf(root, "[data-of]")) part.hidden = part.dataset.of === "runs" ? way === "yaml" : part.dataset.of !== way;
  required(root, "[data-base=base]").hidden = way === "yaml";
  required(root, "[data-base=base2]").hidden = way !== "compare";
  required(root, "[data-part=text-home]").hidden = way === "yaml";
  setText(required(root, "[data-part=base-legend]"), way === "compare" ? "Compare" : "Run");
  for (const name of ["base", "base2"]) required(root, `[data-part=${name}-named]`).hidden = way !== "compare";
}

/** Shows what the server says of the experiment. @param {Document} document @param {HTMLElement} root @param {any} answer */
function showAnswer(document, root, answer) {
  if (answer.parameters) fillParameters(document, root, answer);
  required(root, "[data-part=late]").hidden = !answer.late;
  if (answer.late) setText(required(root, "[data-part=late-titles]"), answer.late);
  if (answer.size) fillMeasures(document, required(root, "select[name=measure]"), answer.size.measures);
}

/**
 * Lists the parameters of the scenario in their groups, keeps the choice, and proposes values.
 * @param {Document} document
 * @param {HTMLElement} root
 * @param {{parameters: {name: string, label: string, group: string, path: string, values: string}[], parameter: string, values?: string}} answer
 */
function fillParameters(document, root, answer) {
  const select = required(root, "select[name=parameter]");
  const values = required(root, "input[name=values]");
  const groups = grouped(answer.parameters);
  select.replaceChildren(...[...groups].map(([label, members]) => element(document, "optgroup", { label }, members.map((one) => element(document, "option", { value: one.name, text: one.label })))));
  select.value = answer.parameter;
  select.disabled = answer.parameters.length === 0;
  const chosen = answer.parameters.find((one) => one.name === answer.parameter);
  setText(required(root, "[data-part=path]"), chosen?.path ?? "");
  if (answer.values !== undefined && document.activeElement !== values) values.value = answer.values;
}

function grouped(members) {
  const found = new Map();
  for (const one of members) found.set(one.group, [...(found.get(one.group) ?? []), one]);
  return found;
}

/** Lists the measures of the scenario's protocol, and keeps the choice. @param {Document} document @param {HTMLElement} select */
function fillMeasures(document, select, measures) {
  const field = /** @type {HTMLSelectElement} */ (select);
  const before = field.value;
  if (field.options.length === measures.length && measures.every((one, at) => field.options[at].value === one.name)) return;
  field.replaceChildren(...measures.map((one) => element(document, "option", { value: one.name, text: one.title })));
  field.value = measures.some((one) => one.name === before) ? before : measures[0].name;
}

/**
 * The page “Experiments”: a form that the server turns into an experiment, and the visitor's own experiments.
 * Only the server decides what is valid, and computes the number of runs and the estimated time.
 */

/** Pause after the last change, ms. */
const PAUSE_MS = 350;

/** @param {{document: Document, root: HTMLElement, window: import("../render/dom.js").PageWindow, fetcher: typeof fetch}} parts */
export function openExperiments({ document, root, window, fetcher }) {
  const requests = makeRequests(fetcher, "");
  const tokens = taskTokens("experiment", window);
  const form = makeForm({ document, root, window, onChange: ask });
  const start = required(root, "button[data-act=start]");
  const failure = required(root, "[data-part=failure]");
  const say = saying(failure);
  let yaml = "";
  let way = "";
  const read = debounced(window, PAUSE_MS, () => requests.post(root.dataset.check, form.asked()), take, say);

  required(root, "[data-part=form-columns]").hidden = false;
  start.addEventListener("click", begin);
  required(root, "button[data-act=edit]").addEventListener("click", () => form.edit(yaml));
  required(root, "button[data-act=download]").addEventListener("click", () => download({ document, window }, yaml));
  listOwn({ document, root, requests, tokens, noun: "experiment" }).catch(say);
  takeAddress();

  /** What the address brings: a text in the fragment (from My set-up), or an experiment to change. */
  async function takeAddress() {
    form.begin(window.location.hash ? await textOf(window.location.hash) : null);
  }

  function ask() {
    start.disabled = true;
    const next = form.asked().way;
    if (next !== way) show({ words: "Counting the runs…", problems: [], text: "" }); // not the plan of the other kind
    way = next;
    read();
  }

  function show({ words, problems, text }) {
    setText(required(root, "[data-part=size]"), words);
    required(root, "[data-part=problems]").replaceChildren(...problems.map((problem) => problemLine(document, problem)));
    setText(required(root, "[data-part=yaml]"), text);
  }

  function take(answer) {
    failure.hidden = true;
    yaml = answer.yaml;
    start.disabled = !answer.size;
    show({ words: answer.size ? answer.size.words : sizeless(answer.problems), problems: answer.problems, text: yaml });
    form.take(answer);
  }

  async function begin() {
    start.disabled = true;
    setText(required(root, "[data-part=done]"), "Starting…");
    try {
      const made = await requests.post(root.dataset.create, { yaml });
      tokens.keep(made.id, made.token);
      window.location.assign(`${made.url}#token=${made.token}`);
    } catch (reason) {
      start.disabled = false;
      setText(required(root, "[data-part=done]"), "");
      say(reason);
    }
  }
}

function download({ document, window }, yaml) {
  const address = window.URL.createObjectURL(new window.Blob([yaml], { type: "application/yaml" }));
  element(document, "a", { href: address, download: "experiment.yaml" }).click();
  window.setTimeout(() => window.URL.revokeObjectURL(address), 10_000);
}

const sizeless = (problems) => (problems.length === 1 ? "One problem to fix" : `${problems.length} problems to fix`);

function problemLine(document, problem) {
  const place = problem.line ? [element(document, "b", { text: `line ${problem.line}, column ${problem.column}` }), " "] : [];
  return element(document, "li", {}, [...place, `${problem.path ? `${problem.path}: ` : ""}${problem.message}${problem.hint ? `; ${problem.hint}` : ""}`]);
}

const root = found(document, "[data-experiments]");
if (root) openExperiments({ document, root, window, fetcher: (address, options) => fetch(address, options) });
