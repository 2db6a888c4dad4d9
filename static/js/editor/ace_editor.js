/**
 * The editor component, Ace, for a scenario: options, completion, marks of problems, documentation under the mouse.
 * Tab indents; Escape leaves the text, so that Tab moves on, and Enter returns to it. Commands that would load further files are removed.
 */

import { placeInText } from "../model/text_place.js";
import { element } from "../render/dom.js";
import { completionsAt, documentationAt } from "./completion.js";
import { placeAt } from "./place.js";
import { wordsOfProblem } from "./problems.js";

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
 * @returns {import("./plain_editor.js").Editor}
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
