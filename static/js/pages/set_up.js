/** The fields of the set-up's form: pairs of names, choices of a name, fields that apply, problems at their fields. It never changes typed text. */

import { isAnswered } from "../model/answer.js";
import { placeInText } from "../model/text_place.js";
import { RequestError, debounced, makeRequests } from "../wire/http.js";
import { makeAnswer, makeAttachment } from "./set_up_answer.js";
import { allOf, element, found, required, saveFile, setText } from "../render/dom.js";
import { LONGEST_LINK, fragmentOf, textOf } from "../wire/text_link.js";
import { keepToken } from "../wire/token.js";

/** Writes a scenario's text as pieces that belong to fields: those of the focused field are highlighted, wrong ones marked. */

/**
 * @param {Document} document
 * @param {HTMLElement} home a <pre>
 * @param {[string, string][][]} lines pieces [text, field]
 * @param {Set<string>} wrong fields with a problem
 */
export function writeYaml(document, home, lines, wrong) {
  home.replaceChildren(
    ...lines.flatMap((pieces) => [
      ...pieces.map(([text, field]) => (field ? element(document, wrong.has(field) ? "span.wrong" : "span", { text, "data-piece": field }) : text)),
      "\n",
    ]),
  );
}

/** Scrolls a box, and only this box, so that a piece in it is visible. */
function showIn(box, piece) {
  const [around, place] = [box.getBoundingClientRect(), piece.getBoundingClientRect()];
  if (place.top < around.top || place.bottom > around.bottom) box.scrollTop += place.top - around.top - around.height / 3;
}

/** Highlights the pieces of one field. */
export function lightPieces(home, field) {
  for (const piece of home.querySelectorAll(".lit")) piece.classList.remove("lit");
  const pieces = field ? [...home.querySelectorAll("[data-piece]")].filter((piece) => piece.dataset.piece === field) : [];
  for (const piece of pieces) piece.classList.add("lit");
  if (pieces.length) showIn(home.parentElement, pieces[0]);
}

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

/**
 * The live form: the server reads it a moment after each change.
 * Its YAML, the problems at their fields, the pairs of regions and the address are then updated. Typed text is never changed.
 */

/** Pause after the last keystroke, ms. */
const PAUSE_MS = 180;

/**
 * @param {object} parts
 * @param {Document} parts.document
 * @param {HTMLElement} parts.root
 * @param {import("../render/dom.js").PageWindow} parts.window
 * @param {ReturnType<import("../wire/http.js").makeRequests>} parts.requests
 * @param {string} parts.address of the request that reads a form
 * @param {any} parts.first the server's reading in the page as delivered
 * @param {any[]} parts.lines of its YAML
 * @param {(reading: any) => void} parts.onReading
 * @param {(reason: Error) => void} parts.onTrouble
 */
export function makeForm({ document, root, window, requests, address, first, lines, onReading, onTrouble }) {
  const form = required(root, "form[data-part=form]");
  const pre = required(root, "[data-part=yaml]");
  const fields = makeFields(document, form, found(root, "[data-part=pairs]"));
  let reading = first;
  let yaml = pre.textContent;
  const read = debounced(window, PAUSE_MS, () => requests.get(`${address}?${fields.query()}`), take, onTrouble);

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    window.history.replaceState(null, "", fields.query() ? `?${fields.query()}` : window.location.pathname);
    read();
  });
  form.addEventListener("focusin", (event) => lightPieces(pre, nameOf(event.target)));
  form.addEventListener("focusout", () => lightPieces(pre, null));
  pre.addEventListener("click", (event) => fields.focus(/** @type {HTMLElement} */ (event.target).dataset?.piece));
  writeYaml(document, pre, lines, wrongFields(first));

  function take(answer) {
    reading = answer;
    yaml = answer.yaml;
    fields.take(answer);
    writeYaml(document, pre, answer.lines, wrongFields(answer));
    const active = /** @type {HTMLInputElement | null} */ (document.activeElement);
    lightPieces(pre, active?.form === form ? active.name : null);
    onReading(answer);
  }

  return {
    yaml: () => yaml,
    question: () => ({ query: fields.query() }),
    reading: () => reading,
    goTo: (problem) => fields.focus(problem.field),
  };
}

/** @param {EventTarget | null} target a field, or another element of the form, which has no name */
const nameOf = (target) => /** @type {HTMLInputElement} */ (target).name;

const wrongFields = (reading) => new Set(reading.problems.map((problem) => problem.field).filter(Boolean));

/** The text field for the visitor's own YAML: typed, pasted, dropped or chosen as a file. Problems link to their line and column. */

/** Pause after the last keystroke, ms. */
const SET_UP_TEXT_PAUSE_MS = 300;

const NOTHING = { problems: [], failure: null, no_failure: "", title: "", validity: "", compared: false };

/**
 * @param {object} parts
 * @param {HTMLElement} parts.root
 * @param {import("../render/dom.js").PageWindow} parts.window
 * @param {ReturnType<import("../wire/http.js").makeRequests>} parts.requests
 * @param {string} parts.address of the request that reads a text
 * @param {(reading: any) => void} parts.onReading
 * @param {(reason: Error) => void} parts.onTrouble
 */
export function makeOwnText({ root, window, requests, address, onReading, onTrouble }) {
  const area = required(root, "textarea[data-part=text]");
  const file = required(root, "input[data-part=file]");
  let reading = NOTHING;
  const read = debounced(window, SET_UP_TEXT_PAUSE_MS, () => requests.post(address, { yaml: area.value }), taken, onTrouble);

  area.addEventListener("input", read);
  area.addEventListener("dragover", (event) => event.preventDefault());
  area.addEventListener("drop", (event) => {
    event.preventDefault();
    take(event.dataTransfer.files[0]);
  });
  file.addEventListener("change", () => take(file.files[0]));

  async function take(given) {
    if (!given) return;
    area.value = await given.text();
    read();
    area.focus();
    area.setSelectionRange(0, 0);
  }

  function taken(answer) {
    reading = answer;
    if (answer.problems.length) area.setAttribute("aria-invalid", "true");
    else area.removeAttribute("aria-invalid");
    onReading(answer);
  }

  return {
    yaml: () => area.value,
    question: () => ({ yaml: area.value }),
    reading: () => reading,
    put: (text) => (area.value = text),
    /** Shows the text field. When it is empty, it starts with the form's YAML. */
    begin(text) {
      if (!area.value) area.value = text;
      read();
    },
    goTo(problem) {
      const { start, end } = placeInText(area.value, problem.line, problem.column);
      area.focus();
      area.setSelectionRange(start, end);
      const line_px = parseFloat(window.getComputedStyle(area).lineHeight);
      area.scrollTop = Math.max(0, (problem.line - 4) * line_px);
    },
  };
}

/** Sharing a set-up: copies its YAML or a link to it, downloads it, or opens it as an experiment or in the scenario editor. */

/** Where the tab keeps the set-up that others are compared with. */
const KEPT = "failover-lab.set-up.kept";

/**
 * @param {object} parts
 * @param {Document} parts.document
 * @param {HTMLElement} parts.root
 * @param {import("../render/dom.js").PageWindow} parts.window
 * @param {() => string} parts.getYaml of the present set-up
 * @param {() => boolean} parts.isForm true when the set-up is the form's, whose values are in the page's address; false for a text
 */
export function makeSharing({ document, root, window, getYaml, isForm }) {
  const done = required(root, "[data-part=done]");

  async function copy(text, words) {
    try {
      await window.navigator.clipboard.writeText(text);
      setText(done, words);
    } catch {
      setText(done, "The browser does not let this page copy; select the text instead.");
    }
  }

  return {
    /** Keeps this set-up, so that another one can be compared with it, also after a reload of the page. */
    keep() {
      window.sessionStorage.setItem(KEPT, getYaml());
      required(root, "button[data-act=beside]").disabled = false;
      setText(done, "Kept. Change the set-up, then compare it with the kept one.");
    },
    /** Opens the kept set-up and this one beside each other, on one clock. */
    async beside() {
      const kept = window.sessionStorage.getItem(KEPT) ?? getYaml();
      window.location.assign(`${root.dataset.beside}${await fragmentOf(kept, "left")}&${(await fragmentOf(getYaml(), "right")).slice(1)}`);
    },
    /** @returns {Promise<string>} the path of this page with this set-up */
    address: async () => window.location.pathname + (isForm() ? window.location.search : await fragmentOf(getYaml())),
    hasKept: () => window.sessionStorage.getItem(KEPT) !== null,
    /** Opens the page of experiments with this set-up. */
    async experiment() {
      window.location.assign(root.dataset.experiments + (isForm() ? window.location.search : await fragmentOf(getYaml())));
    },
    /** Opens the scenario editor with this set-up's text. */
    async edit() {
      window.location.assign(root.dataset.editor + (await fragmentOf(getYaml())));
    },
    copyYaml: () => copy(getYaml(), "The YAML is copied."),
    async copyLink() {
      const page = window.location.origin + window.location.pathname;
      if (isForm()) return copy(page + window.location.search, "The link is copied: it contains every value of the form.");
      const link = page + (await fragmentOf(getYaml()));
      if (link.length > LONGEST_LINK) setText(done, "This text is too long for a link: open it as a lab and share that, or send the file.");
      else await copy(link, "The link is copied: it contains the whole text, which is never sent to a server.");
    },
    download() {
      saveFile(document, window, new window.Blob([getYaml()], { type: "application/yaml" }), "my-set-up.yaml");
      setText(done, "my-set-up.yaml is in your downloads.");
    },
  };
}

/**
 * The page “My set-up”: makes a scenario from a form or a text, to be opened, copied, downloaded, shared and asked about.
 * It connects the parts. Only the server's loader decides what is valid.
 */

/**
 * A scenario to open as a lab, and the changes to it.
 * @typedef {{yaml: string, seed?: number, set?: [path: string, value: string][], at_us?: number}} Run
 */

/** @param {{document: Document, root: HTMLElement, window: import("../render/dom.js").PageWindow, fetcher: typeof fetch}} page */
export function openSetUp({ document, root, window, fetcher }) {
  const requests = makeRequests(fetcher, "");
  const back = makeWayBack(window, document);
  /** Creates a lab from the present set-up, or from one run of the answer. @param {Run} [run] */
  const openLab = (run = { yaml: part().yaml() }) => makeLab({ root, window, requests }, run, back.keep(sharing.address(), isAnswered(answer.state()))).catch(say);
  const parts = { document, root, window, requests, onTrouble: say };
  const [failure, ways] = ["failure", "ways"].map((name) => required(root, `[data-part=${name}]`));
  let way = "form";

  const answer = makeAnswer({ document, root, window, requests, getYaml: () => part().yaml(), getQuestion: () => part().question(), onOpen: (run) => openLab(run) });
  const [first, lines] = ["reading", "line"].map((name) => JSON.parse(required(document, `#${name}-data`).textContent));
  const form = makeForm({ ...parts, address: root.dataset.formAddress, first, lines, onReading: (reading) => read("form", reading) });
  const own = makeOwnText({ ...parts, address: root.dataset.textAddress, onReading: (reading) => read("text", reading) });
  const sharing = makeSharing({ document, root, window, getYaml: () => part().yaml(), isForm: () => way === "form" });
  const open_button = offerActs(root, { open: () => openLab(), experiment: sharing.experiment, edit: sharing.edit, "copy-yaml": sharing.copyYaml, "copy-link": sharing.copyLink, download: sharing.download, keep: sharing.keep, beside: sharing.beside });
  makeAttachment({ document, root, window, requests, isForm: () => way === "form", getUrl: answer.url, getAnswer: answer.state, onLayout: answer.draw });
  required(root, "button[data-act=beside]").disabled = !sharing.hasKept();
  const part = () => (way === "form" ? form : own);

  ways.hidden = false;
  for (const button of allOf(ways, "[data-way]")) button.addEventListener("click", () => showWay(button.dataset.way));
  read("form", first);
  takeLink().then(() => back.wasAnswered() && answer.ask());

  function showWay(wanted) {
    way = wanted;
    for (const button of allOf(ways, "[data-way]")) button.setAttribute("aria-pressed", String(button.dataset.way === way));
    for (const [name, of] of Object.entries({ form: "form", own: "text", "yaml-home": "form" })) required(root, `[data-part=${name}]`).hidden = way !== of;
    if (way === "text") own.begin(form.yaml());
    read(way, part().reading());
  }

  function read(from, reading) {
    if (from !== way) return;
    open_button.disabled = reading.problems.length > 0;
    const lines = reading.problems.map((problem) => problemLine(document, problem, () => part().goTo(problem)));
    required(root, "[data-part=problems]").replaceChildren(...lines, ...(reading.no_failure ? [element(document, "li.quiet", { text: reading.no_failure })] : []));
    answer.about(reading);
    failure.hidden = true;
  }

  /** Opens the text that the address contains. */
  async function takeLink() {
    if (!window.location.hash) return;
    const text = await textOf(window.location.hash);
    if (text === null) {
      say(new RequestError("The link contains no readable scenario.", "It may have been cut off when it was copied."));
      return;
    }
    own.put(text);
    showWay("text");
  }

  function say(reason) {
    failure.textContent = `${reason.message} ${reason.hint ?? ""}`;
    failure.hidden = false;
  }

  return { answer: answer.state, answered: () => isAnswered(answer.state()), close: answer.cancel };
}

/** Where the tab keeps the set-up from which a lab was opened. */
const LEFT = "failover-lab.set-up.left";

/** The way back from a lab: a visitor who comes from one gets the set-up from which it was opened, with its answer, which the server has kept. */
function makeWayBack(window, document) {
  const here = window.location.pathname + window.location.search + window.location.hash;
  const left = JSON.parse(window.sessionStorage.getItem(LEFT) ?? "null");
  const from_lab = document.referrer.startsWith(`${window.location.origin}/labs/`);
  if (left && from_lab && here === window.location.pathname && here !== left.address) window.location.replace(left.address);
  return {
    /** @param {Promise<string>} address @param {boolean} is_answered */
    async keep(address, is_answered) {
      window.sessionStorage.setItem(LEFT, JSON.stringify({ address: await address, is_answered }));
    },
    /** Whether this is the set-up that was left, and it had an answer. */
    wasAnswered: () => Boolean(left?.is_answered) && left.address === here,
  };
}

/** Creates a lab and opens it, once the way back is kept. */
async function makeLab({ root, window, requests }, run, kept) {
  await kept;
  const made = await requests.post(root.dataset.create, run);
  keepToken(made.id, made.token, window);
  window.location.assign(`${made.url}#token=${made.token}`);
}

/** Shows the buttons that need this script. @returns {HTMLButtonElement} the one that opens a lab; a set-up with problems disables it */
function offerActs(root, acts) {
  for (const [act, run] of Object.entries(acts)) {
    const button = required(root, `[data-act=${act}]`);
    button.hidden = false;
    button.addEventListener("click", () => run());
  }
  return required(root, "button[data-act=open]");
}

function problemLine(document, problem, goTo) {
  const place = problem.line ? `line ${problem.line}, column ${problem.column}` : "";
  const go = place && element(document, "button", { type: "button", text: place, onclick: goTo });
  return element(document, "li", {}, [...(go ? [go, " "] : []), `${problem.path ? `${problem.path}: ` : ""}${problem.message}${problem.hint ? `; ${problem.hint}` : ""}`]);
}

const root = found(document, "[data-set-up]");
if (root) {
  globalThis.failoverSetUp = openSetUp({
    document,
    root,
    window,
    fetcher: (address, options) => fetch(address, options),
  });
  // a visitor who leaves before the answer no longer needs it
  window.addEventListener("pagehide", () => globalThis.failoverSetUp.answered() || globalThis.failoverSetUp.close());
}
