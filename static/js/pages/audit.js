/** An audit's page: its progress; when it is done, the page is loaded again with the report. */

import { openTask } from "./tasks.js";
import { found, required } from "../render/dom.js";

/** @param {{document: Document, root: HTMLElement, window: import("../render/dom.js").PageWindow, fetcher: typeof fetch}} parts */
export function openAudit(parts) {
  const { root, window } = parts;
  let waited = false;
  openTask(parts, {
    noun: "audit",
    question: "Delete this audit with its report? Labs that were made from its scenario are kept.",
    onStatus(status) {
      const bar = required(root, "progress[data-part=bar]");
      bar.max = status.step_count || 1;
      bar.value = Math.max(0, status.step_number - 1);
      required(root, "[data-part=bar-home]").hidden = status.over;
      if (waited && status.state === "done") window.location.reload();
      waited = !status.over;
    },
  });
}

const root = found(document, "[data-audit]");
if (root) openAudit({ document, root, window, fetcher: (address, options) => fetch(address, options) });
