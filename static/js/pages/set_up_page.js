/**
 * The page “My set-up”: makes a scenario from a form or a text, to be opened, copied, downloaded, shared and asked about.
 * It connects the parts. Only the server's loader decides what is valid.
 */

import { isAnswered } from "../model/answer.js";
import { makeRequests, RequestError } from "../wire/http.js";
import { textOf } from "../wire/text_link.js";
import { keepToken } from "../wire/token.js";
import { allOf, element, required } from "../render/dom.js";
import { makeAnswer } from "./set_up_answer.js";
import { makeAttachment } from "./set_up_attachment.js";
import { makeForm } from "./set_up_form.js";
import { makeSharing } from "./set_up_sharing.js";
import { makeOwnText } from "./set_up_text.js";

/**
 * A scenario to open as a lab, and the changes to it.
 * @typedef {{yaml: string, seed?: number, set?: [path: string, value: string][], at_us?: number}} Run
 */

/** @param {{document: Document, root: HTMLElement, window: import("../render/dom.js").PageWindow, fetcher: typeof fetch}} page */
export function openSetUp({ document, root, window, fetcher }) {
  const requests = makeRequests(fetcher, "");
  const back = makeWayBack(window, document);
  /** Creates a lab from the present set-up, or from one run of the answer. @param {Run} [run] */
  const openLab = (run = { yaml: part().yaml() }) => makeLab({ root, window, requests }, run, back.keep(sharing.address(), isAnswered(answer.state()))).catch(say);
  const parts = { document, root, window, requests, onTrouble: say };
  const [failure, ways] = ["failure", "ways"].map((name) => required(root, `[data-part=${name}]`));
  let way = "form";

  const answer = makeAnswer({ document, root, window, requests, getYaml: () => part().yaml(), getQuestion: () => part().question(), onOpen: (run) => openLab(run) });
  const [first, lines] = ["reading", "line"].map((name) => JSON.parse(required(document, `#${name}-data`).textContent));
  const form = makeForm({ ...parts, address: root.dataset.formAddress, first, lines, onReading: (reading) => read("form", reading) });
  const own = makeOwnText({ ...parts, address: root.dataset.textAddress, onReading: (reading) => read("text", reading) });
  const sharing = makeSharing({ document, root, window, getYaml: () => part().yaml(), isForm: () => way === "form" });
  const open_button = offerActs(root, { open: () => openLab(), experiment: sharing.experiment, edit: sharing.edit, "copy-yaml": sharing.copyYaml, "copy-link": sharing.copyLink, download: sharing.download, keep: sharing.keep, beside: sharing.beside });
  makeAttachment({ document, root, window, requests, isForm: () => way === "form", getUrl: answer.url, getAnswer: answer.state, onLayout: answer.draw });
  required(root, "button[data-act=beside]").disabled = !sharing.hasKept();
  const part = () => (way === "form" ? form : own);

  ways.hidden = false;
  for (const button of allOf(ways, "[data-way]")) button.addEventListener("click", () => showWay(button.dataset.way));
  read("form", first);
  takeLink().then(() => back.wasAnswered() && answer.ask());

  function showWay(wanted) {
    way = wanted;
    for (const button of allOf(ways, "[data-way]")) button.setAttribute("aria-pressed", String(button.dataset.way === way));
    for (const [name, of] of Object.entries({ form: "form", own: "text", "yaml-home": "form" })) required(root, `[data-part=${name}]`).hidden = way !== of;
    if (way === "text") own.begin(form.yaml());
    read(way, part().reading());
  }

  function read(from, reading) {
    if (from !== way) return;
    open_button.disabled = reading.problems.length > 0;
    const lines = reading.problems.map((problem) => problemLine(document, problem, () => part().goTo(problem)));
    required(root, "[data-part=problems]").replaceChildren(...lines, ...(reading.no_failure ? [element(document, "li.quiet", { text: reading.no_failure })] : []));
    answer.about(reading);
    failure.hidden = true;
  }

  /** Opens the text that the address contains. */
  async function takeLink() {
    if (!window.location.hash) return;
    const text = await textOf(window.location.hash);
    if (text === null) {
      say(new RequestError("The link contains no readable scenario.", "It may have been cut off when it was copied."));
      return;
    }
    own.put(text);
    showWay("text");
  }

  function say(reason) {
    failure.textContent = `${reason.message} ${reason.hint ?? ""}`;
    failure.hidden = false;
  }

  return { answer: answer.state, answered: () => isAnswered(answer.state()), close: answer.cancel };
}

/** Where the tab keeps the set-up from which a lab was opened. */
const LEFT = "failover-lab.set-up.left";

/** The way back from a lab: a visitor who comes from one gets the set-up from which it was opened, with its answer, which the server has kept. */
function makeWayBack(window, document) {
  const here = window.location.pathname + window.location.search + window.location.hash;
  const left = JSON.parse(window.sessionStorage.getItem(LEFT) ?? "null");
  const from_lab = document.referrer.startsWith(`${window.location.origin}/labs/`);
  if (left && from_lab && here === window.location.pathname && here !== left.address) window.location.replace(left.address);
  return {
    /** @param {Promise<string>} address @param {boolean} is_answered */
    async keep(address, is_answered) {
      window.sessionStorage.setItem(LEFT, JSON.stringify({ address: await address, is_answered }));
    },
    /** Whether this is the set-up that was left, and it had an answer. */
    wasAnswered: () => Boolean(left?.is_answered) && left.address === here,
  };
}

/** Creates a lab and opens it, once the way back is kept. */
async function makeLab({ root, window, requests }, run, kept) {
  await kept;
  const made = await requests.post(root.dataset.create, run);
  keepToken(made.id, made.token, window);
  window.location.assign(`${made.url}#token=${made.token}`);
}

/** Shows the buttons that need this script. @returns {HTMLButtonElement} the one that opens a lab; a set-up with problems disables it */
function offerActs(root, acts) {
  for (const [act, run] of Object.entries(acts)) {
    const button = required(root, `[data-act=${act}]`);
    button.hidden = false;
    button.addEventListener("click", () => run());
  }
  return required(root, "button[data-act=open]");
}

function problemLine(document, problem, goTo) {
  const place = problem.line ? `line ${problem.line}, column ${problem.column}` : "";
  const go = place && element(document, "button", { type: "button", text: place, onclick: goTo });
  return element(document, "li", {}, [...(go ? [go, " "] : []), `${problem.path ? `${problem.path}: ` : ""}${problem.message}${problem.hint ? `; ${problem.hint}` : ""}`]);
}
