/** The page of a report or audit: its progress; when it is done, the page is loaded again with the result. */

import { openTask } from "./tasks.js";
import { element, found, required } from "../render/dom.js";
import { ownerToken, storageOf } from "../wire/token.js";

/** A report is awaited in front of the page, and its worker writes as often. */
const ASK_FOR_REPORT_EVERY_MS = 250;

/** @param {{document: Document, root: HTMLElement, window: import("../render/dom.js").PageWindow, fetcher: typeof fetch}} parts */
export function openAudit(parts) {
  openSteps(parts, { noun: "audit", question: "Delete this audit with its report? Labs that were made from its scenario are kept." });
}

/** A report has the token of its lab; a recount of an answer has none. @param {{document: Document, root: HTMLElement, window: import("../render/dom.js").PageWindow, fetcher: typeof fetch}} parts */
export function openReport(parts) {
  const { document, root, window } = parts;
  const lab = root.dataset.lab;
  const token = lab ? ownerToken(lab, window.location, storageOf(window), window.history) : null;
  openSteps(parts, { noun: "report", token, every_ms: ASK_FOR_REPORT_EVERY_MS }, (status) => showFigures(document, root, status.simulator_figures));
}

/** @param {any} parts @param {any} kind @param {(status: any) => void} [more] */
function openSteps(parts, kind, more) {
  const { root, window } = parts;
  let waited = false;
  openTask(parts, {
    ...kind,
    onStatus(status) {
      const bar = required(root, "progress[data-part=bar]");
      bar.max = status.step_count || 1;
      bar.value = Math.max(0, status.step_number - 1);
      bar.hidden = status.over;
      more?.(status);
      if (waited && status.state === "done") window.location.reload();
      waited = !status.over;
    },
  });
}

/** Fills the table of the simulator's own figures. They do not change once they are there. */
function showFigures(document, root, lines) {
  const section = required(root, "[data-part=simulator-figures]");
  section.hidden = lines.length === 0;
  const rows = required(section, "tbody");
  if (rows.childElementCount === lines.length) return;
  rows.replaceChildren(
    ...lines.map((line) =>
      element(document, "tr", {}, [
        element(document, "th", { scope: "row", text: line.subject }),
        ...[line.duplicates, line.redeliveries, line.stranded, line.lost].map((count) => element(document, "td", { text: String(count ?? "–") })),
      ]),
    ),
  );
}

for (const [selector, open] of /** @type {const} */ ([["[data-report]", openReport], ["[data-audit]", openAudit]])) {
  const root = found(document, selector);
  if (root) open({ document, root, window, fetcher: (address, options) => fetch(address, options) });
}
