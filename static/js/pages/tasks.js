/**
 * The page of a report, experiment or audit: asks for its state until it is over, and cancels, queues again and deletes it.
 * Only the owner's browser has the token that these need.
 */

import { element, found, required, setText } from "../render/dom.js";
import { makeRequests } from "../wire/http.js";

/**
 * The owner's tokens of experiments and audits, stored in this browser under the task's id. Only it has the list.
 * Private windows may refuse storage; the token then lasts as long as the page.
 */

/**
 * The tokens of one kind of task.
 * @param {string} noun "experiment" or "audit"
 * @param {Window} window
 */
export function taskTokens(noun, window) {
  const prefix = `failover-lab.${noun}.`;

  function keep(id, token) {
    try {
      window.localStorage.setItem(prefix + id, token);
    } catch (reason) {
      console.info(`The token travels in the address only: ${reason.message}`);
    }
  }

  return {
    keep,
    /** The token of a task: from the fragment of the address, which is then removed, or from storage. @param {string} id @returns {string | null} */
    of(id) {
      const given = new URLSearchParams(window.location.hash.slice(1)).get("token");
      if (given) {
        keep(id, given);
        window.history.replaceState(null, "", window.location.pathname + window.location.search);
        return given;
      }
      try {
        return window.localStorage.getItem(prefix + id);
      } catch {
        return null;
      }
    },
    /** @returns {{id: string, token: string | null}[]} every task whose token this browser stores */
    own() {
      try {
        const storage = window.localStorage;
        return Array.from({ length: storage.length }, (_, at) => storage.key(at) ?? "")
          .filter((key) => key.startsWith(prefix))
          .map((key) => ({ id: key.slice(prefix.length), token: storage.getItem(key) }));
      } catch {
        return [];
      }
    },
    /** Deletes the token of a task that no longer exists. @param {string} id */
    forget: (id) => window.localStorage.removeItem(prefix + id),
  };
}

/** The list of the visitor's own experiments or audits, and the notice of an error at the foot of a page. */

/** Most tasks that the server is asked about at once. */
const ASKED_MOST = 500;

/**
 * Fills the list of the tasks whose tokens this browser stores.
 * @param {object} parts
 * @param {Document} parts.document
 * @param {HTMLElement} parts.root has the address of the list in `data-mine`
 * @param {ReturnType<import("../wire/http.js").makeRequests>} parts.requests
 * @param {ReturnType<taskTokens>} parts.tokens
 * @param {string} parts.noun "experiment" or "audit"
 */
export async function listOwn({ document, root, requests, tokens, noun }) {
  const own = tokens.own().slice(0, ASKED_MOST);
  const answer = own.length ? await requests.post(root.dataset.mine, { [`${noun}s`]: own }) : { tasks: [], gone: [] };
  for (const id of answer.gone) tokens.forget(id);
  setText(required(root, "[data-part=status]"), answer.tasks.length ? "Only this browser has the list; there are no accounts." : `No ${noun}s in this browser yet.`);
  required(root, "ol[data-part=list]").replaceChildren(
    ...answer.tasks.map((one) => element(document, "li", {}, [element(document, "a", { href: one.url, text: one.title }), " ", element(document, "span.soft", { text: one.words })])),
  );
  found(root, "[data-part=list]")?.toggleAttribute("data-ready", true);
}

/** @param {HTMLElement} failure @returns {(reason: any) => void} shows an error with its remedy in `failure` */
export function saying(failure) {
  return (reason) => {
    failure.textContent = `${reason.message} ${reason.hint ?? ""}`;
    failure.hidden = false;
  };
}

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
 * @param {string} kind.noun "report", "experiment" or "audit"; the root has the id in `data-NOUN`
 * @param {string | null} [kind.token] the owner's, where it is not stored as that of a task
 * @param {string} [kind.question] asked before it is deleted, if the page offers that
 * @param {() => string} [kind.query] of the address that is asked for the state
 * @param {number} [kind.every_ms] time between two questions
 * @param {(status: any) => void} kind.onStatus
 */
export function openTask({ document, root, window, fetcher }, { noun, token, question = "", query = () => "", every_ms = ASK_EVERY_MS, onStatus }) {
  const requests = makeRequests(fetcher, "");
  const tokens = taskTokens(noun, window);
  const [id, address] = [root.dataset[noun], root.dataset.address];
  const own_token = token === undefined ? tokens.of(id) : token;
  const attempt = attempting(required(root, "[data-part=failure]"));
  const act = (name) => required(root, `button[data-act=${name}]`);
  let status = JSON.parse(required(document, "#status-data").textContent ?? "");

  act("cancel").addEventListener("click", () => post("cancel"));
  act("again").addEventListener("click", () => post("again"));
  const delete_button = found(root, "button[data-act=delete]");
  delete_button?.addEventListener("click", remove);
  show(status);
  askLater();

  function askLater() {
    if (!status.over) window.setTimeout(ask, status.cancel_wanted ? ASK_EVERY_CANCELLING_MS : every_ms);
  }

  async function ask() {
    const next = await attempt(() => requests.get(`${address}status.json${query()}`));
    if (next) show(next);
    askLater();
  }

  async function post(name) {
    const was_over = status.over;
    const next = await attempt(() => requests.post(`${address}${name}/`, { token: own_token }));
    if (next) show(next);
    if (next && was_over) askLater();
  }

  async function remove() {
    if (!window.confirm(question)) return;
    if (!(await attempt(() => requests.post(`${address}delete/`, { token: own_token })))) return;
    tokens.forget(id);
    window.location.assign(address.replace(`${id}/`, ""));
  }

  /** @param {Status} next */
  function show(next) {
    status = next;
    setText(required(root, "[data-part=words]"), status.words);
    setText(required(root, "[data-part=lasting]"), status.lasting);
    setText(required(root, "[data-part=hint]"), [status.hint, status.note].filter(Boolean).join(" "));
    act("cancel").hidden = own_token === null || status.over || status.cancel_wanted;
    act("again").hidden = own_token === null || !["failed", "cancelled"].includes(status.state) || status.may_retry === false;
    if (delete_button) delete_button.hidden = own_token === null || !status.over;
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
