/**
 * The plain text field as an editor: used when the scripts of the editor component could not be loaded.
 * Its functions are those of `ace_editor.js`, without completion and marks.
 *
 * @typedef {object} Editor
 * @property {() => string} value
 * @property {(text: string) => void} begin shows another text, from which undo does not lead back
 * @property {(text: string) => void} setValue replaces the text as a change; the component can undo it
 * @property {() => {row: number, offset: number, line: number, column: number}} cursor row from 0, line and column from 1
 * @property {(problems: import("./problems.js").Problem[]) => void} show marks the problems
 * @property {(line: number, column: number) => void} goTo from 1; moves the focus there
 * @property {(taken: () => void) => void} onChange
 * @property {(moved: () => void) => void} onCursor
 */

import { placeInText } from "../model/text_place.js";

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
