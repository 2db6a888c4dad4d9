/** An experiment's page: its progress, and its results as they arrive. */

import { allOf, required } from "../render/dom.js";
import { makeResults } from "./experiment_results.js";
import { openTask } from "./task_page.js";

/** @param {{document: Document, root: HTMLElement, window: import("../render/dom.js").PageWindow, fetcher: typeof fetch}} parts */
export function openExperiment(parts) {
  const { document, root, window } = parts;
  const results = makeResults({ document, root, window, address: root.dataset.address });
  openTask(parts, {
    noun: "experiment",
    question: "Delete this experiment with its results? Labs that were made from its runs are kept.",
    query: () => `?have=${results.runs()}`,
    onStatus(status) {
      required(root, "progress[data-part=bar]").value = status.finished;
      required(root, "[data-part=report]").hidden = !status.files;
      for (const one of allOf(root, "[data-part=download]")) one.hidden = !status.files;
      if (status.results) results.show(status.results);
    },
  });
}
