/** The embed code in the dialog that shares a lab, with what the frame shows. */

import { embedCode } from "../model/embed.js";
import { searchOf } from "../model/view_address.js";
import { required } from "../render/dom.js";

/** @param {HTMLElement} dialog @param {{link: string, getState: () => import("../model/state.js").LabState, getView: () => {panel: string, selection: object}}} parts link: the address of the lab */
export function makeEmbedField(dialog, { link, getState, getView }) {
  const field = required(dialog, "input[data-part=embed-code]");
  const choices = required(dialog, "[data-part=embed-choices]");
  const isOn = (name) => required(choices, `input[name=${name}]`).checked;
  choices.addEventListener("change", write);

  function write() {
    const { welcome, view, at_us, speed } = getState();
    if (!view) return;
    const wanted = { instant: isOn("instant"), panel: isOn("panel"), controls: isOn("controls"), theme: required(choices, "select[name=theme]").value };
    field.value = embedCode(link, { title: welcome.title, search: searchOf(getView()), at_us, branch: view.branch, speed }, wanted);
  }

  return { write };
}
