/**
 * The editor component, Ace, for a scenario: options, completion, marks of problems, documentation under the mouse.
 * Tab indents; Escape leaves the text, so that Tab moves on, and Enter returns to it. Commands that would load further files are removed.
 */

import { completionsAt, documentationAt } from "./completion.js";
import { placeAt } from "./outline.js";
import { counted } from "../model/format.js";
import { placeInText } from "../model/text_place.js";
import { element, setText } from "../render/dom.js";

/**
 * The problems of a text: their words, their marks beside the lines, and the list that leads to them.
 *
 * @typedef {{line: number | null, column: number | null, path: string, message: string, hint: string}} Problem as the server sends it
 */

/** @param {Problem} problem @returns {string} as the command line prints it, without the file's name and place */
export const wordsOfProblem = ({ path, message, hint }) => `${path ? `${path}: ` : ""}${message}${hint ? `; ${hint}` : ""}`;

/** @param {Problem} problem @returns {string} */
export const placeOfProblem = ({ line, column }) => (line ? `line ${line}, column ${column}` : "");

/** What is announced when the text was checked. @param {Problem[]} problems @param {number} count of all, also those that are not listed */
export function announcement(problems, count) {
  if (!count) return "No problems.";
  const [first] = problems;
  return `${counted(count, "problem")}. ${first.line ? `Line ${first.line}: ` : ""}${wordsOfProblem(first)}`;
}

/**
 * The problem to go to next from a line, again from the first after the last.
 * @param {Problem[]} problems in the order of the text @param {number} line from 1, where the cursor is @param {number} column from 1
 * @param {1 | -1} step @returns {Problem | null}
 */
export function nextProblem(problems, line, column, step) {
  const placed = problems.filter((problem) => problem.line);
  const after = (problem) => (problem.line - line || problem.column - column) * step > 0;
  const ordered = step > 0 ? placed : [...placed].reverse();
  return ordered.find(after) ?? ordered[0] ?? null;
}

/** @param {Problem} problem @returns {string | null} the name that the server proposes instead of the one at the problem's place */
export const proposalOf = ({ line, hint }) => (line ? (/^did you mean (\S+)\?$/.exec(hint)?.[1] ?? null) : null);

/**
 * A text with a problem's word replaced by the proposal.
 * @param {string} text @param {Problem} problem @param {string} proposal
 */
export function withProposal(text, { line, column }, proposal) {
  const lines = text.split("\n");
  const at = lines[line - 1] ?? "";
  const word = /^[^\s,:{}[\]"'#]+/.exec(at.slice(column - 1))?.[0] ?? "";
  lines[line - 1] = at.slice(0, column - 1) + proposal + at.slice(column - 1 + word.length);
  return lines.join("\n");
}

/**
 * Writes the list of problems. Each is a button that leads to its place; where the server proposes a name, another one takes it.
 * @param {Document} document @param {{heading: HTMLElement, list: HTMLElement, status: HTMLElement}} parts
 * @param {Problem[]} problems @param {number} count @param {{goTo: (problem: Problem) => void, take: (problem: Problem, proposal: string) => void}} on
 */
export function writeProblems(document, { heading, list, status }, problems, count, on) {
  setText(heading, count ? counted(count, "problem") : "No problems");
  setText(status, announcement(problems, count));
  const focused = [...list.children].findIndex((one) => one.contains(document.activeElement));
  list.replaceChildren(...problems.map((problem) => item(document, problem, on)));
  const buttons = list.querySelectorAll("button");
  if (focused >= 0 && buttons.length) buttons[Math.min(focused, buttons.length - 1)].focus();
}

function item(document, problem, { goTo, take }) {
  const words = wordsOfProblem(problem);
  if (!problem.line) return element(document, "li", { text: words });
  const place = element(document, "b", { text: placeOfProblem(problem) });
  const proposal = proposalOf(problem);
  const taken = proposal === null ? [] : [element(document, "button.take", { type: "button", onclick: () => take(problem, proposal), text: `Use ${proposal}` })];
  return element(document, "li", {}, [element(document, "button", { type: "button", onclick: () => goTo(problem) }, [place, ` ${words}`]), ...taken]);
}

const LOADS_MORE = ["goToNextError", "goToPreviousError", "showSettingsMenu", "openCommandPalette", "openCommandPallete", "gotoline", "toggleSplitSelectionIntoLines"];
const LABEL = "Scenario as YAML";
const OPTIONS = {
  useWorker: false, // the server's loader checks the text; it is set before the mode, which would start a worker
  mode: "ace/mode/yaml",
  tabSize: 2,
  useSoftTabs: true,
  newLineMode: "unix",
  showPrintMargin: false,
  scrollPastEnd: 0.3,
  enableBasicAutocompletion: true,
  enableLiveAutocompletion: true,
  enableKeyboardAccessibility: true,
  textInputAriaLabel: LABEL,
};

/**
 * @param {object} parts
 * @param {any} parts.ace the component
 * @param {Document} parts.document
 * @param {HTMLElement} parts.home
 * @param {string} parts.text
 * @param {() => any} parts.getSchema null until it has arrived
 * @param {boolean} parts.dark
 * @param {boolean} parts.narrow whether long lines are wrapped
 * @returns {Editor}
 */
export function makeAceEditor({ ace, document, home, text, getSchema, dark, narrow }) {
  const editor = ace.edit(home, { ...OPTIONS, wrap: narrow, value: text });
  editor.setTheme({ cssClass: "ace-lab", cssText: "", isDark: dark });
  for (const name of LOADS_MORE) editor.commands.removeCommand(name);
  editor.renderer.scroller.setAttribute("aria-label", `${LABEL}. Press Enter to edit, Escape to leave.`);
  const offsetOf = (position) => editor.session.doc.positionToIndex(position);
  editor.renderer.on("resize", () => editor.isFocused() && editor.renderer.scrollCursorIntoView());
  const marks = makeMarks(ace, editor);
  editor.completers = [makeCompleter(ace, editor, getSchema, offsetOf)];
  hideFieldOfList(ace.require("ace/autocomplete").Autocomplete.for(editor));
  addHover(ace, document, editor, { getSchema, offsetOf, problemsAt: marks.problemsAt });
  return {
    value: () => editor.getValue(),
    begin: (given) => editor.session.setValue(given),
    setValue(given) {
      editor.setValue(given, -1);
    },
    cursor() {
      const position = editor.getCursorPosition();
      return { row: position.row, offset: offsetOf(position), line: position.row + 1, column: position.column + 1 };
    },
    show: marks.show,
    goTo(line, column) {
      editor.gotoLine(line, column - 1, false);
      editor.scrollToLine(line - 1, true, false);
      editor.focus();
    },
    onChange: (taken) => editor.session.on("change", taken),
    onCursor: (moved) => editor.selection.on("changeCursor", moved),
  };
}

/** The list of completions has a text field of its own, hidden from screen readers. Tab must not reach it. */
function hideFieldOfList(list) {
  const init = list.$init;
  list.$init = () => {
    const popup = init.call(list);
    popup.renderer.textarea.setAttribute("tabindex", "-1");
    return popup;
  };
}

/** The signs beside the lines, and the lines under the words, of problems. */
function makeMarks(ace, editor) {
  const { Range } = ace.require("ace/range");
  let shown = [];
  let markers = [];

  function show(problems) {
    const { session } = editor;
    shown = problems.filter((problem) => problem.line);
    for (const marker of markers) session.removeMarker(marker);
    session.setAnnotations(shown.map((problem) => ({ row: problem.line - 1, column: problem.column - 1, text: wordsOfProblem(problem), type: "error" })));
    markers = shown.map((problem) => {
      const { start, end } = placeInText(session.getValue(), problem.line, problem.column);
      const [from, to] = [start, Math.max(end, start + 1)].map((offset) => session.doc.indexToPosition(offset));
      return session.addMarker(new Range(from.row, from.column, to.row, to.column), "problem-mark", "text");
    });
  }

  return { show, problemsAt: (row) => shown.filter((problem) => problem.line === row + 1) };
}

function makeCompleter(ace, editor, getSchema, offsetOf) {
  const { snippetManager } = ace.require("ace/snippets");
  const found = () => completionsAt(getSchema(), editor.getValue(), offsetOf(editor.getCursorPosition()));

  function insertMatch(_editor, { snippet, from_offset }) {
    const { session } = editor;
    const position = editor.getCursorPosition();
    const place = placeAt(editor.getValue(), offsetOf(position));
    // the list may be older than what was typed since: the key then does what it does without a list
    if (place?.from !== from_offset) return editor.insert("\n");
    const line = session.getLine(position.row);
    const rest = /^[\w.-]*/.exec(line.slice(position.column))[0].length;
    const from = session.doc.indexToPosition(place.from);
    const quote = /["']/.test(line[from.column] ?? "") && from.column < position.column && line[position.column + rest] === line[from.column] ? 1 : 0;
    session.replace({ start: from, end: { row: position.row, column: position.column + rest + quote } }, "");
    // the component repeats the indentation of the line in each further line of a snippet
    const indent = /^ */.exec(line)[0];
    snippetManager.insertSnippet(editor, snippet.replaceAll(`\n${indent}`, "\n"));
    if (/[:{[-] ?\$0|: \$\{1\}/.test(snippet) || snippet.endsWith("\n$0")) setTimeout(() => found().completions.length && editor.execCommand("startAutocomplete"));
  }

  return {
    identifierRegexps: [/[^\s,{}[\]:"'#]/],
    triggerCharacters: [" ", "{", "["],
    getCompletions(_editor, _session, _position, _prefix, callback) {
      if (!getSchema()) return callback(null, []);
      const place = placeAt(editor.getValue(), offsetOf(editor.getCursorPosition()));
      // the spaces that indent a new line open no list, so that Enter there still begins a line
      if (editor.completer?.autoShown && place && !place.word && !place.flow && place.wanted === "key") return callback(null, []);
      const { completions, from } = found();
      callback(null, completions.map((one, at) => ({ from_offset: from, caption: one.label, value: one.label, snippet: one.snippet, meta: one.kind, score: 1000 - at, docText: [one.label, ...one.words].join("\n"), completer: { insertMatch } })));
    },
  };
}

/** Shows what the schema says about the key under the mouse, and the problems of its line. */
function addHover(ace, document, editor, { getSchema, offsetOf, problemsAt }) {
  const { HoverTooltip } = ace.require("ace/tooltip");
  const { Range } = ace.require("ace/range");
  const tooltip = new HoverTooltip();
  tooltip.setDataProvider((event) => {
    const position = event.getDocumentPosition();
    const said = getSchema() && documentationAt(getSchema(), editor.getValue(), position.row, offsetOf(position));
    const problems = problemsAt(position.row).map((problem) => element(document, "p.harm-text", { text: wordsOfProblem(problem) }));
    const words = said ? [element(document, "p", {}, [element(document, "b", { text: said.path })]), ...said.words.map((text) => element(document, "p", { text }))] : [];
    if (!words.length && !problems.length) return tooltip.hide();
    const [from, to] = said ? [said.from, said.to].map((offset) => editor.session.doc.indexToPosition(offset)) : [position, position];
    tooltip.showForRange(editor, new Range(from.row, from.column, to.row, Math.max(to.column, position.column + 1)), element(document, "div.editor-hover", {}, [...problems, ...words]), event);
  });
  tooltip.addToEditor(editor);
}

/**
 * The plain text field as an editor: used when the scripts of the editor component could not be loaded.
 * Its functions are those of `ace_editor.js`, without completion and marks.
 *
 * @typedef {object} Editor
 * @property {() => string} value
 * @property {(text: string) => void} begin shows another text, from which undo does not lead back
 * @property {(text: string) => void} setValue replaces the text as a change; the component can undo it
 * @property {() => {row: number, offset: number, line: number, column: number}} cursor row from 0, line and column from 1
 * @property {(problems: Problem[]) => void} show marks the problems
 * @property {(line: number, column: number) => void} goTo from 1; moves the focus there
 * @property {(taken: () => void) => void} onChange
 * @property {(moved: () => void) => void} onCursor
 */

/** @param {HTMLTextAreaElement} area @param {import("../render/dom.js").PageWindow} window @returns {Editor} */
export function makePlainEditor(area, window) {
  const listeners = [];
  const changed = () => listeners.forEach((taken) => taken());
  area.addEventListener("input", changed);
  return {
    value: () => area.value,
    begin: (text) => (area.value = text),
    setValue(text) {
      area.value = text;
      changed();
    },
    cursor() {
      const offset = area.selectionStart;
      const before = area.value.slice(0, offset);
      const row = before.split("\n").length - 1;
      return { row, offset, line: row + 1, column: offset - before.lastIndexOf("\n") };
    },
    show(problems) {
      if (problems.length) area.setAttribute("aria-invalid", "true");
      else area.removeAttribute("aria-invalid");
    },
    goTo(line, column) {
      const { start, end } = placeInText(area.value, line, column);
      area.focus();
      area.setSelectionRange(start, end);
      area.scrollTop = Math.max(0, (line - 4) * parseFloat(window.getComputedStyle(area).lineHeight));
    },
    onChange: (taken) => listeners.push(taken),
    onCursor: (moved) => {
      for (const event of ["keyup", "click"]) area.addEventListener(event, moved);
    },
  };
}
