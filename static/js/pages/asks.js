/** The questions under the sentence, once there was a failover, or something came twice in the group that is watched: each leads to the panel that answers it. */

import { isGroupLab } from "../model/groups.js";
import { latestFailover } from "../model/sentence.js";
import { required } from "../render/dom.js";

/** @param {HTMLElement} root @param {ReturnType<import("./panels.js").makePanels>} panels */
export function makeAsks(root, panels) {
  const line = required(root, "[data-part=asks]");
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
      const hidden = isGroupLab(state) ? !state.view.groups[watched.group]?.figures?.duplicates : !latestFailover(state, watched.subscription);
      if (line.hidden !== hidden) line.hidden = hidden;
    },
  };
}
