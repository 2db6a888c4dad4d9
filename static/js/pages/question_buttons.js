/**
 * The questions under the sentence: why messages were duplicated or lost, and what would have helped.
 * The first is shown once there are some, the second after a failover. Each opens the panel that answers it.
 */

import { protocolOf } from "../protocols/table.js";
import { required, setText } from "../render/dom.js";

/** @param {HTMLElement} root @param {ReturnType<import("./panels.js").makePanels>} panels */
export function makeQuestionButtons(root, panels) {
  const line = required(root, "[data-part=questions]");
  const why = required(line, "[data-act=why-duplicates]");
  for (const [act, name] of Object.entries({ "why-duplicates": "why-duplicates", "what-helps": "what-if" })) {
    required(line, `[data-act=${act}]`).addEventListener("click", () => {
      panels.show(name);
      const panel = required(root, `#panel-${name}`);
      panel.scrollIntoView({ block: "nearest" });
      panel.focus({ preventScroll: true });
    });
  }
  return {
    update(state, watched) {
      const { question, shown } = protocolOf(state).ask(state, watched);
      if (question) setText(why, question);
      why.hidden = !question;
      if (line.hidden !== !shown) line.hidden = !shown;
    },
  };
}
