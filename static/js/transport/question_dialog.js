/** A dialog that asks before an action that is hard to undo: a title, a sentence and the choices, the first one focused. */

import { element, required } from "../render/dom.js";

/**
 * @param {Document} document
 * @param {HTMLElement} root contains the dialog
 * @returns {(asked: {title: string, words: string, choices: {says: string, act: () => void}[]}) => void} opens it; the last choice is always “Cancel”
 */
export function makeQuestion(document, root) {
  const dialog = required(root, "dialog[data-part=question-dialog]");
  return function ask({ title, words, choices }) {
    required(dialog, "[data-part=question-title]").textContent = title;
    required(dialog, "[data-part=question-words]").textContent = words;
    const choose = (act) => () => {
      dialog.close();
      act();
    };
    const buttons = [...choices, { says: "Cancel", act: () => {} }].map(({ says, act }) => element(document, "button", { type: "button", text: says, onclick: choose(act) }));
    required(dialog, "[data-part=question-choices]").replaceChildren(...buttons);
    dialog.showModal();
  };
}
