/**
 * My set-up: a form or a text makes a scenario, which can be opened, copied, downloaded, passed on as a link, and asked about.
 * Knows its parts; what is right is the server's one loader's business.
 */

import { makeRequests, RequestError } from "../wire/http.js";
import { fragmentOf, LONGEST_LINK, textOf } from "../wire/text_link.js";
import { keepToken } from "../wire/token.js";
import { element, required, setText } from "../render/dom.js";
import { makeAnswer } from "./set_up_answer.js";
import { makeForm } from "./set_up_form.js";
import { makeOwnText } from "./set_up_text.js";

export function openSetUp({ document, root, window, fetcher, makeSocket }) {
  const requests = makeRequests(fetcher, "");
  const first = JSON.parse(required(document, "#reading-data").textContent);
  const lines = JSON.parse(required(document, "#line-data").textContent);
  const done = required(root, "[data-part=done]");
  const failure = required(root, "[data-part=failure]");
  const buttons = Object.fromEntries(["open", "copy-yaml", "download", "copy-link"].map((act) => [act, required(root, `[data-act=${act}]`)]));
  const ways = required(root, "[data-part=ways]");
  let way = "form";

  const answer = makeAnswer({ document, root, window, makeSocket: () => makeSocket(root.dataset.socketPath), getYaml: () => part().yaml(), onOpen: (changes) => openLab(changes) });
  const form = makeForm({ document, root, window, requests, address: root.dataset.formAddress, first, lines, onReading: (reading) => read("form", reading), onTrouble: say });
  const own = makeOwnText({ document, root, window, requests, address: root.dataset.textAddress, onReading: (reading) => read("text", reading), onTrouble: say });
  const part = () => (way === "form" ? form : own);

  ways.hidden = false;
  for (const button of Object.values(buttons)) button.hidden = false;
  for (const button of ways.querySelectorAll("[data-way]")) button.addEventListener("click", () => turnTo(button.dataset.way));
  buttons.open.addEventListener("click", () => openLab({}));
  buttons["copy-yaml"].addEventListener("click", () => copy(part().yaml(), "The YAML is copied."));
  buttons["copy-link"].addEventListener("click", copyLink);
  buttons.download.addEventListener("click", download);
  read("form", first);
  takeLink();

  function turnTo(wanted) {
    way = wanted;
    for (const button of ways.querySelectorAll("[data-way]")) button.setAttribute("aria-pressed", String(button.dataset.way === way));
    required(root, "[data-part=form]").hidden = way !== "form";
    required(root, "[data-part=own]").hidden = way !== "text";
    required(root, "[data-part=yaml-home]").hidden = way !== "form";
    if (way === "text") own.begin(form.yaml());
    read(way, part().reading());
  }

  function read(from, reading) {
    if (from !== way) return;
    const right = reading.problems.length === 0;
    buttons.open.disabled = !right;
    required(root, "[data-part=problems]").replaceChildren(...reading.problems.map(problemLine), ...(reading.no_failure ? [element(document, "li.quiet", { text: reading.no_failure })] : []));
    answer.about(reading);
    failure.hidden = true;
  }

  function problemLine(problem) {
    const place = problem.line ? `line ${problem.line}, column ${problem.column}` : "";
    const go = place && element(document, "button", { type: "button", text: place, onclick: () => (way === "form" ? form.goTo(problem) : own.goTo(problem)) });
    return element(document, "li", {}, [...(go ? [go, " "] : []), `${problem.path ? `${problem.path}: ` : ""}${problem.message}${problem.hint ? `; ${problem.hint}` : ""}`]);
  }

  async function openLab({ yaml = part().yaml(), seed, set, at_us }) {
    try {
      const made = await requests.post(root.dataset.create, { yaml, ...(seed === undefined ? {} : { seed, set, at_us }) });
      keepToken(made.id, made.token, window);
      window.location.assign(`${made.url}#token=${made.token}`);
    } catch (reason) {
      say(reason);
    }
  }

  async function copyLink() {
    const page = window.location.origin + window.location.pathname;
    if (way === "form") return copy(page + window.location.search, "The link is copied: it holds every value of the form.");
    const link = page + (await fragmentOf(own.yaml()));
    if (link.length > LONGEST_LINK) setText(done, "This text is too long for a link: open it as a lab and share that, or send the file.");
    else await copy(link, "The link is copied: it holds the whole text, and no server sees it.");
  }

  /** A link to a text opens the page with it. */
  async function takeLink() {
    if (!window.location.hash) return;
    const text = await textOf(window.location.hash);
    if (text === null) {
      say(new RequestError("The link holds no scenario that can be read.", "It may have been cut off when it was copied."));
      return;
    }
    own.put(text);
    turnTo("text");
  }

  async function copy(text, words) {
    try {
      await window.navigator.clipboard.writeText(text);
      setText(done, words);
    } catch {
      setText(done, "The browser does not let this page copy; select the text instead.");
    }
  }

  function download() {
    const address = window.URL.createObjectURL(new window.Blob([part().yaml()], { type: "application/yaml" }));
    element(document, "a", { href: address, download: "my-set-up.yaml" }).click();
    window.setTimeout(() => window.URL.revokeObjectURL(address), 10_000);
    setText(done, "my-set-up.yaml is in your downloads.");
  }

  function say(reason) {
    failure.textContent = `${reason.message} ${reason.hint ?? ""}`;
    failure.hidden = false;
  }

  return { answer: answer.state, close: answer.cancel };
}
