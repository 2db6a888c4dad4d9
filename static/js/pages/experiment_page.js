/**
 * An experiment's page: asks for its state until it is over, and shows progress and results as they arrive.
 * Only the owner's browser has the token that cancels, continues and deletes.
 */

import { allOf, required, setText } from "../render/dom.js";
import { makeRequests } from "../wire/http.js";
import { forgetExperiment, tokenOf } from "../wire/experiment_token.js";
import { makeResults } from "./experiment_results.js";

/** Time between two questions, and while the experiment is being cancelled, ms. */
const ASK_EVERY_MS = 700;
const ASK_EVERY_CANCELLING_MS = 200;

/** @param {{document: Document, root: HTMLElement, window: import("../render/dom.js").PageWindow, fetcher: typeof fetch}} parts */
export function openExperiment({ document, root, window, fetcher }) {
  const requests = makeRequests(fetcher, "");
  const id = root.dataset.experiment;
  const address = root.dataset.address;
  const token = tokenOf(id, window);
  const attempt = attempting(required(root, "[data-part=failure]"));
  const results = makeResults({ document, root, window, address });
  const progress = makeProgress(root, token !== null);
  let status = JSON.parse(required(document, "#status-data").textContent ?? "");

  progress.onAct("cancel", () => post("cancel"));
  progress.onAct("again", () => post("again"));
  progress.onAct("delete", remove);
  show(status);
  askLater();

  function askLater() {
    if (!status.over) window.setTimeout(ask, status.cancel_wanted ? ASK_EVERY_CANCELLING_MS : ASK_EVERY_MS);
  }

  async function ask() {
    const next = await attempt(() => requests.get(`${address}status.json?have=${results.runs()}`));
    if (next) show(next);
    askLater();
  }

  async function post(name) {
    const was_over = status.over;
    const next = await attempt(() => requests.post(`${address}${name}/`, { token }));
    if (next) show(next);
    if (next && was_over) askLater();
  }

  async function remove() {
    if (!window.confirm("Delete this experiment with its results? Labs that were made from its runs are kept.")) return;
    if (!(await attempt(() => requests.post(`${address}delete/`, { token })))) return;
    forgetExperiment(id, window);
    window.location.assign(address.replace(`${id}/`, ""));
  }

  function show(next) {
    status = next;
    progress.show(next);
    if (next.results) results.show(next.results);
  }
}

/** The state in words, the bar, and the buttons that the state allows. */
function makeProgress(root, is_owner) {
  const act = (name) => required(root, `button[data-act=${name}]`);
  return {
    onAct: (name, run) => act(name).addEventListener("click", run),
    show(status) {
      setText(required(root, "[data-part=words]"), status.words);
      setText(required(root, "[data-part=hint]"), [status.hint, status.note].filter(Boolean).join(" "));
      required(root, "progress[data-part=bar]").value = status.finished;
      act("cancel").hidden = !is_owner || status.over || status.cancel_wanted;
      act("again").hidden = !is_owner || !["failed", "cancelled"].includes(status.state);
      act("delete").hidden = !is_owner || !status.over;
      required(root, "[data-part=report]").hidden = !status.files;
      for (const one of allOf(root, "[data-part=download]")) one.hidden = !status.files;
    },
  };
}

/** @returns {<T>(work: () => Promise<T>) => Promise<T | null>} runs `work`; shows its error in `failure` and returns null if it failed */
function attempting(failure) {
  return async (work) => {
    try {
      const found = await work();
      failure.hidden = true;
      return found;
    } catch (reason) {
      failure.textContent = `${reason.message} ${reason.hint ?? ""}`;
      failure.hidden = false;
      return null;
    }
  };
}
