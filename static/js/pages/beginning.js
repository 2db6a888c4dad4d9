/** The hint for a first visit: a lab at instant 0 explains how to start playback. */

import { required } from "../render/dom.js";

/** @param {HTMLElement} root @param {() => void} play */
export function makeBeginning(root, play) {
  const line = required(root, "[data-part=begin]");
  required(line, "button").addEventListener("click", play);
  return {
    /** @param {import("../model/state.js").LabState} state */
    update(state) {
      const hidden = state.at_us > 0 || state.playing || !state.welcome?.owner;
      if (line.hidden !== hidden) line.hidden = hidden;
    },
  };
}
