/**
 * The page of an experiment or audit: asks for its state until it is over, and cancels, queues again and deletes it.
 * Only the owner's browser has the token that these need.
 */

import { required, setText } from "../render/dom.js";
import { makeRequests } from "../wire/http.js";
import { taskTokens } from "../wire/task_token.js";
import { saying } from "./own_tasks.js";

/** Time between two questions, and while the task is being cancelled, ms. */
const ASK_EVERY_MS = 700;
const ASK_EVERY_CANCELLING_MS = 200;

/**
 * What the server answers about a task.
 * @typedef {{state: string, over: boolean, cancel_wanted: boolean, words: string, hint: string, note: string, lasting: string, may_retry?: boolean}} Status
 */

/**
 * @param {{document: Document, root: HTMLElement, window: import("../render/dom.js").PageWindow, fetcher: typeof fetch}} parts
 * @param {object} kind
 * @param {string} kind.noun "experiment" or "audit"; the root has the id in `data-NOUN`
 * @param {string} kind.question asked before it is deleted
 * @param {() => string} [kind.query] of the address that is asked for the state
 * @param {(status: any) => void} kind.onStatus
 */
export function openTask({ document, root, window, fetcher }, { noun, question, query = () => "", onStatus }) {
  const requests = makeRequests(fetcher, "");
  const tokens = taskTokens(noun, window);
  const [id, address] = [root.dataset[noun], root.dataset.address];
  const token = tokens.of(id);
  const attempt = attempting(required(root, "[data-part=failure]"));
  const act = (name) => required(root, `button[data-act=${name}]`);
  let status = JSON.parse(required(document, "#status-data").textContent ?? "");

  act("cancel").addEventListener("click", () => post("cancel"));
  act("again").addEventListener("click", () => post("again"));
  act("delete").addEventListener("click", remove);
  show(status);
  askLater();

  function askLater() {
    if (!status.over) window.setTimeout(ask, status.cancel_wanted ? ASK_EVERY_CANCELLING_MS : ASK_EVERY_MS);
  }

  async function ask() {
    const next = await attempt(() => requests.get(`${address}status.json${query()}`));
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
    if (!window.confirm(question)) return;
    if (!(await attempt(() => requests.post(`${address}delete/`, { token })))) return;
    tokens.forget(id);
    window.location.assign(address.replace(`${id}/`, ""));
  }

  /** @param {Status} next */
  function show(next) {
    status = next;
    setText(required(root, "[data-part=words]"), status.words);
    setText(required(root, "[data-part=lasting]"), status.lasting);
    setText(required(root, "[data-part=hint]"), [status.hint, status.note].filter(Boolean).join(" "));
    act("cancel").hidden = token === null || status.over || status.cancel_wanted;
    act("again").hidden = token === null || !["failed", "cancelled"].includes(status.state) || status.may_retry === false;
    act("delete").hidden = token === null || !status.over;
    onStatus(next);
  }
}

/** @returns {<T>(work: () => Promise<T>) => Promise<T | null>} runs `work`; shows its error in `failure` and returns null if it failed */
function attempting(failure) {
  const say = saying(failure);
  return async (work) => {
    try {
      const found = await work();
      failure.hidden = true;
      return found;
    } catch (reason) {
      say(reason);
      return null;
    }
  };
}
