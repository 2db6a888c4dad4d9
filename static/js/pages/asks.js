/** The questions under the sentence, once there was a failover, or something came twice in the group that is watched: each leads to the panel that answers it. */

import { isGroupLab } from "../model/groups.js";
import { latestFailover } from "../model/sentence.js";
import { required, setText } from "../render/dom.js";

/** Whoever reads that something was lost asks that first. */
const questionOf = (over) => (over?.lost ? `Why lost${over.duplicates ? ", why twice" : ""}?` : "Why twice?");

/** @param {HTMLElement} root @param {ReturnType<import("./panels.js").makePanels>} panels */
export function makeAsks(root, panels) {
  const line = required(root, "[data-part=asks]");
  const why = required(line, "[data-act=why-twice]");
  for (const [act, name] of Object.entries({ "why-twice": "why-twice", "what-helps": "what-if" })) {
    required(line, `[data-act=${act}]`).addEventListener("click", () => {
      panels.show(name);
      const panel = required(root, `#panel-${name}`);
      panel.scrollIntoView({ block: "nearest" });
      panel.focus({ preventScroll: true });
    });
  }
  return {
    update(state, watched) {
      const over = isGroupLab(state) ? null : latestFailover(state, watched.subscription);
      setText(why, questionOf(over));
      const hidden = isGroupLab(state) ? !state.view.groups[watched.group]?.figures?.duplicates : !over;
      if (line.hidden !== hidden) line.hidden = hidden;
    },
  };
}
