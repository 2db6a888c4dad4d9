/**
 * The page “Experiments”: a form that the server turns into an experiment, and the visitor's own experiments.
 * Only the server decides what is valid, and computes the number of runs and the estimated time.
 */

import { makeRequests } from "../wire/http.js";
import { textOf } from "../wire/text_link.js";
import { taskTokens } from "../wire/task_token.js";
import { element, required, setText } from "../render/dom.js";
import { debounced } from "./debounced.js";
import { makeForm } from "./experiments_form.js";
import { listOwn, saying } from "./own_tasks.js";

/** Pause after the last change, ms. */
const PAUSE_MS = 350;

/** @param {{document: Document, root: HTMLElement, window: import("../render/dom.js").PageWindow, fetcher: typeof fetch}} parts */
export function openExperiments({ document, root, window, fetcher }) {
  const requests = makeRequests(fetcher, "");
  const tokens = taskTokens("experiment", window);
  const form = makeForm({ document, root, window, onChange: ask });
  const start = required(root, "button[data-act=start]");
  const failure = required(root, "[data-part=failure]");
  const say = saying(failure);
  let yaml = "";
  let way = "";
  const read = debounced(window, PAUSE_MS, () => requests.post(root.dataset.check, form.asked()), take, say);

  required(root, "[data-part=form-columns]").hidden = false;
  start.addEventListener("click", begin);
  required(root, "button[data-act=edit]").addEventListener("click", () => form.edit(yaml));
  required(root, "button[data-act=download]").addEventListener("click", () => download({ document, window }, yaml));
  listOwn({ document, root, requests, tokens, noun: "experiment" }).catch(say);
  takeAddress();

  /** What the address brings: a text in the fragment (from My set-up), or an experiment to change. */
  async function takeAddress() {
    form.begin(window.location.hash ? await textOf(window.location.hash) : null);
  }

  function ask() {
    start.disabled = true;
    const next = form.asked().way;
    if (next !== way) show({ words: "Counting the runs…", problems: [], text: "" }); // not the plan of the other kind
    way = next;
    read();
  }

  function show({ words, problems, text }) {
    setText(required(root, "[data-part=size]"), words);
    required(root, "[data-part=problems]").replaceChildren(...problems.map((problem) => problemLine(document, problem)));
    setText(required(root, "[data-part=yaml]"), text);
  }

  function take(answer) {
    failure.hidden = true;
    yaml = answer.yaml;
    start.disabled = !answer.size;
    show({ words: answer.size ? answer.size.words : sizeless(answer.problems), problems: answer.problems, text: yaml });
    form.take(answer);
  }

  async function begin() {
    start.disabled = true;
    setText(required(root, "[data-part=done]"), "Starting…");
    try {
      const made = await requests.post(root.dataset.create, { yaml });
      tokens.keep(made.id, made.token);
      window.location.assign(`${made.url}#token=${made.token}`);
    } catch (reason) {
      start.disabled = false;
      setText(required(root, "[data-part=done]"), "");
      say(reason);
    }
  }
}

function download({ document, window }, yaml) {
  const address = window.URL.createObjectURL(new window.Blob([yaml], { type: "application/yaml" }));
  element(document, "a", { href: address, download: "experiment.yaml" }).click();
  window.setTimeout(() => window.URL.revokeObjectURL(address), 10_000);
}

const sizeless = (problems) => (problems.length === 1 ? "One problem to fix" : `${problems.length} problems to fix`);

function problemLine(document, problem) {
  const place = problem.line ? [element(document, "b", { text: `line ${problem.line}, column ${problem.column}` }), " "] : [];
  return element(document, "li", {}, [...place, `${problem.path ? `${problem.path}: ` : ""}${problem.message}${problem.hint ? `; ${problem.hint}` : ""}`]);
}
