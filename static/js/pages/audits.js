/**
 * The page “Audits”: a form that uploads logs, an example to try, and the visitor's own audits.
 * Number and size of the files are checked before they are sent, since a server that refuses a long upload ends the connection.
 */

import { offerColumns } from "./audit_columns.js";
import { listOwn, saying, taskTokens } from "./tasks.js";
import { found, required, setText } from "../render/dom.js";
import { RequestError, makeRequests } from "../wire/http.js";

const MIB = 1 << 20;

/** @param {{document: Document, root: HTMLElement, window: import("../render/dom.js").PageWindow, fetcher: typeof fetch}} parts */
export function openAudits({ document, root, window, fetcher }) {
  const requests = makeRequests(fetcher, "");
  const tokens = taskTokens("audit", window);
  const failure = required(root, "[data-part=failure]");
  const form = /** @type {HTMLFormElement} */ (required(root, "form[data-part=form]"));
  const files = /** @type {HTMLInputElement} */ (form.elements.namedItem("files"));
  const mapping = /** @type {HTMLTextAreaElement} */ (form.elements.namedItem("mapping"));
  const mapping_file = /** @type {HTMLInputElement} */ (required(root, "input[data-part=mapping-file]"));
  const buttons = ["start", "example"].map((name) => /** @type {HTMLButtonElement} */ (required(root, `button[data-act=${name}]`)));
  const done = required(root, "[data-part=done]");
  const say = saying(failure);

  form.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    begin(() => upload());
  });
  files.addEventListener("change", () => {
    failure.hidden = true;
    setText(done, "");
  });
  mapping_file.addEventListener("change", async () => {
    if (mapping_file.files?.[0]) mapping.value = await mapping_file.files[0].text();
    mapping.focus();
  });
  offerColumns({ document, root, files, mapping });
  buttons[1].addEventListener("click", () => begin(() => requests.post(root.dataset.create, { example: true })));
  listOwn({ document, root, requests, tokens, noun: "audit" }).catch(say);

  async function upload() {
    const chosen = [...(files.files ?? [])];
    const wrong = problemOf(chosen, Number(root.dataset.filesMost), Number(root.dataset.mibMost));
    if (wrong) throw wrong;
    setText(done, `Uploading ${chosen.length === 1 ? chosen[0].name : `${chosen.length} files`}…`);
    return requests.postForm(root.dataset.create, new window.FormData(form));
  }

  async function begin(make) {
    failure.hidden = true;
    setText(done, "Starting…");
    for (const button of buttons) button.disabled = true;
    try {
      const made = await make();
      tokens.keep(made.id, made.token);
      window.location.assign(`${made.url}#token=${made.token}`);
    } catch (reason) {
      setText(done, "");
      say(reason);
    }
    for (const button of buttons) button.disabled = false;
  }
}

/**
 * What is wrong with the chosen files, as far as it is known before they are sent.
 * @param {{name: string, size: number}[]} files
 * @param {number} files_most
 * @param {number} mib_most
 * @returns {RequestError | null}
 */
export function problemOf(files, files_most, mib_most) {
  if (!files.length) return new RequestError("No file is chosen.", "Choose log files, or try the example log.");
  if (files.length > files_most) return new RequestError(`${files.length} files are chosen.`, `At most ${files_most} are taken; put logs together, or use the command line.`);
  const empty = files.find((file) => file.size === 0);
  if (empty) return new RequestError(`${empty.name} is empty.`, "Leave it out.");
  const mib = files.reduce((sum, file) => sum + file.size, 0) / MIB;
  if (mib > mib_most) return new RequestError(`The files have ${mib.toFixed(1)} MiB together.`, `At most ${mib_most} MiB are taken; compress them, or use the command line.`);
  return null;
}

const root = globalThis.document && found(document, "[data-audits]"); // Node\'s tests have no document
if (root) openAudits({ document, root, window, fetcher: (address, options) => fetch(address, options) });
