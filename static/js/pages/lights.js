/** Highlights the causal cone of a clicked row, message or marker: requested once, shown until Esc or another click. */

import { counted } from "../model/format.js";
import { litOf } from "../model/lit.js";
import { plainWordsOf } from "../model/row_words.js";
import { required, setText } from "../render/dom.js";

export function makeLights({ root, requests, base, getState, say, redraw }) {
  const strip = required(root, "[data-part=lit]");
  const words = required(strip, "[data-part=lit-words]");
  let lit = null;
  let shown = null; // what was asked for
  let branch = null;
  let asked = 0;
  required(strip, "[data-act=lit-clear]").addEventListener("click", clear);

  async function light(query, subject) {
    const own = ++asked;
    shown = subject;
    try {
      const answer = await requests.get(`${base}cone.json?${query}`);
      if (own !== asked) return;
      lit = litOf(answer);
      branch = getState().view.branch;
      show();
    } catch (reason) {
      if (own === asked) say({ error: reason.message, hint: reason.hint });
    }
  }

  function show() {
    strip.hidden = lit === null;
    if (lit) setText(words, `${plainWordsOf(lit.row, getState())}: caused by ${counted(lit.back, "event")}, led to ${counted(lit.forward, "event")}${lit.more ? " or more" : ""}.`);
    redraw();
  }

  function clear() {
    asked += 1;
    shown = null;
    if (lit === null) return false;
    lit = null;
    show();
    return true;
  }

  return {
    /** @returns {import("../model/lit.js").Lit | null} */
    now() {
      if (lit !== null && getState().view?.branch !== branch) clear(); // another branch has another past
      return lit;
    },
    /** The row, marker or message whose causes and effects are highlighted. @returns {import("../model/presentation.js").Shown["lit"]} */
    shown: () => shown,
    row: (seq) => light(`seq=${seq}`, { seq }),
    marker: (number) => light(`marker=${number}`, { marker: number }),
    message: (producer, number) => light(`producer=${encodeURIComponent(producer)}&number=${number}`, { message: [producer, number] }),
    clear,
  };
}
