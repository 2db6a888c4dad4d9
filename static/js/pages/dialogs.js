/**
 * Pauses the owner's playback while a dialog is open, so that its figures are those of the instant shown.
 * Playback resumes when the dialog closes. A viewer cannot pause: the figures stay those of the instant at which the dialog was opened.
 */

import { element, required } from "../render/dom.js";

/**
 * @param {Document} document
 * @param {import("../render/dom.js").PageWindow} window
 * @param {{link: ReturnType<import("../transport/lab_link.js").makeLabLink>, getState: () => import("../model/state.js").LabState}} parts
 */
export function makeDialogs(document, window, { link, getState }) {
  const dialogs = [...document.querySelectorAll("dialog")];
  let seen = null; // the state that the open dialog shows
  let resume_speed = null; // of the playback that a dialog has paused
  const open = () => dialogs.find((dialog) => dialog.open);

  function changed() {
    const state = getState();
    if (open() && seen === null) {
      seen = state;
      if (!state.playing || !state.welcome?.owner) return;
      resume_speed = state.speed;
      link.pause();
    } else if (!open()) {
      seen = null;
      if (resume_speed !== null) link.play(resume_speed);
      resume_speed = null;
    }
  }

  const observer = new window.MutationObserver(changed);
  for (const dialog of dialogs) observer.observe(dialog, { attributes: true, attributeFilter: ["open"] });

  return {
    /** @returns {import("../model/state.js").LabState} the state that the open dialog shows; without one, the present state */
    state: () => seen ?? getState(),
    /** The owner's lab paused a frame after the dialog was opened: updates the figures in the dialog. */
    update(state) {
      if (seen === null || !state.welcome?.owner || (state.at_us === seen.at_us && state.view.branch === seen.view.branch)) return;
      seen = state;
      open()?.dispatchEvent(new window.Event("change"));
    },
  };
}

/** A dialog that asks before an action that is hard to undo: a title, a sentence and the choices, the first one focused. */

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
