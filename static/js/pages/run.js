/**
 * The page of a shared run: states what the link holds, makes a lab from it, and compares its digest with that of the link.
 * The fragment holds the run's document (GET /labs/<id>/run.json); the query holds what the page of the lab shows.
 */

import { counted, seconds } from "../model/format.js";
import { found, required, setText } from "../render/dom.js";
import { makeRequests } from "../wire/http.js";
import { textOf } from "../wire/text_link.js";
import { keepToken } from "../wire/token.js";

/** @param {{document: Document, root: HTMLElement, window: import("../render/dom.js").PageWindow, fetcher: typeof fetch}} parts */
export async function openRun({ document, root, window, fetcher }) {
  const requests = makeRequests(fetcher, "");
  const part = (name) => required(root, `[data-part=${name}]`);
  const button = required(root, "button[data-act=open]");
  const run = runOf(await textOf(window.location.hash, "run"));
  if (!run) {
    setText(part("title"), "This link holds no run");
    setText(part("words"), "It was cut off or changed. Copy it again from the page of the lab: Share, Link to this run.");
    return;
  }
  setText(part("title"), `Open “${run.title}”`);
  document.title = `${run.title} · Failover Lab`;
  setText(part("words"), wordsOf(run));
  const warning = versionWarning(run, root.dataset.engine);
  part("warning").hidden = warning === "";
  setText(part("warning"), warning);
  button.hidden = false;
  const edit = /** @type {HTMLAnchorElement} */ (required(root, "a[data-part=edit]"));
  edit.hidden = false;
  edit.href = edit.pathname + window.location.hash;
  button.addEventListener("click", () => open().catch(failed));

  async function open() {
    button.disabled = true;
    setText(part("status"), "The run is being repeated…");
    const made = await requests.post(root.dataset.address, run);
    keepToken(made.id, made.token, window);
    const lab = `${made.url}${window.location.search}#token=${made.token}`;
    const inputs = await requests.get(`${made.url}inputs.json`);
    if (!run.digest || inputs.digest === run.digest) {
      window.location.assign(lab);
      return;
    }
    setText(part("status"), "");
    part("differs").hidden = false;
    /** @type {HTMLAnchorElement} */ (required(root, "a[data-part=lab]")).href = lab;
  }

  function failed(reason) {
    button.disabled = false;
    setText(part("status"), "");
    part("failure").hidden = false;
    setText(part("failure"), [reason.message, reason.hint].filter(Boolean).join(" "));
  }
}

/** @param {string | null} text @returns {any} the document, null when it is none */
function runOf(text) {
  try {
    const run = JSON.parse(text ?? "null");
    return run !== null && typeof run === "object" && (run.scenario || run.yaml) && Array.isArray(run.commands) ? run : null;
  } catch {
    return null;
  }
}

/** What the link holds, in one sentence. */
function wordsOf(run) {
  const whose = run.scenario ? `The built-in scenario ${run.scenario}` : "A scenario of its own";
  const commands = run.commands.length ? `${counted(run.commands.length, "command", "commands")} given by hand` : "no commands given by hand";
  return `${whose}, seed ${run.seed}, ${commands}, at ${seconds(run.until_us)} s. Opening it makes a lab of your own that repeats the run.`;
}

/** @param {{engine_version?: string}} run @param {string} here the server's version @returns {string} empty for the same version */
export function versionWarning(run, here) {
  if (run.engine_version === here) return "";
  return `The run was made by version ${run.engine_version ?? "?"}; this server has version ${here}. It may differ here.`;
}

const root = globalThis.document && found(document, "[data-run]"); // Node\'s tests have no document
if (root) openRun({ document, root, window, fetcher: (address, options) => fetch(address, options) });
