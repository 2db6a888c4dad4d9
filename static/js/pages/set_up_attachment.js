/**
 * The attachment for a change request: the answer on one printed page, then every run, Spark's recount and the scenario.
 * It is this page with a layout for paper, so that both always say the same; the browser prints it or saves it as PDF.
 * The button also asks for the recount, which takes a minute or more: the attachment is printed at once, and has the tables of Spark when it is made again.
 */

import { checksWords, figuresOf, recountProgress, recountWords, valueWords, whatIfTitle, whatIfWords } from "../model/answer.js";
import { causeWords } from "../model/cause_words.js";
import { inOrder } from "../model/variants.js";
import { allOf, element, found, required, setText } from "../render/dom.js";
import { columnHeads } from "../render/terms.js";
import { bestInShort } from "../render/what_if_table.js";

/** The class while it is printed: the plots then have the width of paper. */
const CLASS = "printing";
/** Settings on the first page; the appendix has all. */
const BEST_SHOWN = 3;
/** Time between two questions about the recount, ms. */
const ASK_EVERY_MS = 1000;

/**
 * @param {object} parts
 * @param {Document} parts.document
 * @param {HTMLElement} parts.root
 * @param {import("../render/dom.js").PageWindow} parts.window
 * @param {ReturnType<import("../wire/http.js").makeRequests>} parts.requests
 * @param {() => boolean} parts.isForm whether the set-up is the form's
 * @param {() => string} parts.getUrl the path of the answer's experiment
 * @param {() => import("../model/answer.js").Answer} parts.getAnswer
 * @param {() => void} parts.onLayout draws the plots at the width that they have now
 */
export function makeAttachment({ document, root, window, requests, isForm, getUrl, getAnswer, onLayout }) {
  const printed = required(root, "[data-part=printed]");
  const numbers = /** @type {HTMLDetailsElement} */ (required(root, "[data-part=numbers]"));

  const recount = makeRecount({ document, root, window, requests, getUrl, getAnswer });

  async function make() {
    await recount.ask();
    const part = (title, text) => [element(document, "h3", { text: title }), element(document, "p", { text })];
    printed.replaceChildren(
      ...helps(document, getAnswer()),
      ...(isForm() ? part("Set-up", setUpWords(root)) : part("Set-up", "The scenario is in the appendix.")),
      ...part("Checked", recount.words()),
      ...part("Repeat it", `python -m spark_reports sweep experiment.yaml --out results, with experiment.yaml from ${window.location.origin}${getUrl()}download/yaml/`),
      ...part("Address", window.location.href),
    );
    const was_open = numbers.open;
    numbers.open = true;
    root.classList.add(CLASS);
    onLayout();
    window.addEventListener("afterprint", () => restore(was_open), { once: true });
    window.print();
  }

  function restore(was_open) {
    numbers.open = was_open;
    root.classList.remove(CLASS);
    onLayout();
  }

  required(root, "button[data-act=attach]").addEventListener("click", make);
}

/** Spark's recount of the answer's runs: asked for once for each answer, and shown beside the button and in the appendix. */
function makeRecount({ document, root, window, requests, getUrl, getAnswer }) {
  const [progress, section, result, table, checks] = ["recount-words", "recount", "recount-result", "recount-table", "recount-checks"].map((name) => required(root, `[data-part=${name}]`));
  /** @type {{of: string, status: import("../model/answer.js").Recount | null, refused: string}} */
  let found = { of: "", status: null, refused: "" };

  async function take(url, request) {
    try {
      found = { of: url, status: { ...found.status, ...(await request) }, refused: "" };
    } catch (reason) {
      found = { of: url, status: null, refused: `${reason.message} ${reason.hint}`.trim() };
    }
    draw();
    if (found.status && !found.status.over) window.setTimeout(() => follow(url), ASK_EVERY_MS);
  }

  function follow(url) {
    if (found.of === url && url === getUrl()) take(url, requests.get(`${found.status?.url}status.json`));
  }

  function draw() {
    const { status, refused } = found;
    setText(progress, recountProgress(status, refused));
    progress.classList.toggle("harm-text", status?.state === "failed");
    section.hidden = status?.state !== "done" && status?.state !== "failed";
    setText(result, recountWords(status, refused, getAnswer().asked?.size.factor));
    table.replaceChildren(...(status?.state === "done" ? tableOf(document, getAnswer().runs, status.figures) : []));
    checks.replaceChildren(...(status?.state === "done" ? checksOf(document, status.checks) : []));
  }

  return {
    /** The result, and the address of the report while there is one. */
    words: () => [recountWords(found.status, found.refused, getAnswer().asked?.size.factor), ...(found.status ? [`Its report: ${window.location.origin}${found.status.url}`] : [])].join(" "),
    /** Asks for the recount of the present answer, unless it waits, runs or is done. */
    async ask() {
      const url = getUrl();
      if (found.of === url && found.status && found.status.state !== "failed") return;
      found = { of: url, status: null, refused: "" };
      await take(url, requests.post(`${url}recount/`, {}));
    },
  };
}

/** Spark's figures and causes of each run. */
function tableOf(document, runs, counted) {
  const figures = figuresOf(runs).filter(({ name }) => name in counted[0]);
  const causes = (by_cause) => Object.entries(by_cause).map(([cause, count]) => `${count} ${causeWords(cause)}`).join(", ");
  const rows = counted.map((one) => element(document, "tr", {}, [String(one.seed), ...figures.map((figure) => valueWords(figure, one[figure.name])), causes(one.by_cause)].map((text) => element(document, "td", { text }))));
  return [element(document, "thead", {}, [element(document, "tr", {}, columnHeads(document, ["seed", ...figures.map((figure) => figure.says), "cause"]))]), element(document, "tbody", {}, rows)];
}

/** What was checked in the runs, and in how many of them it held. */
function checksOf(document, checks) {
  const rows = checks.map(({ claim, held, violated, first }) => element(document, "tr", violated ? { class: "harm-text" } : {}, [first ? `${claim} Violated: ${first}` : claim, String(held), String(violated)].map((text) => element(document, "td", { text }))));
  return [element(document, "caption", { text: checksWords(checks) }), element(document, "thead", {}, [element(document, "tr", {}, columnHeads(document, ["check", ["held in runs", "check"], ["violated in runs", "check"]]))]), element(document, "tbody", {}, rows)];
}

/** What helps most, with the settings to paste. @returns {HTMLElement[]} only the progress, or why there is none, until every change was run */
function helps(document, { what_if, asked }) {
  if (!what_if) return [];
  const best = what_if.done && what_if.order.length ? bestInShort(document, inOrder(what_if, 0), what_if, BEST_SHOWN) : [];
  return [element(document, "h3", { text: whatIfTitle(what_if) }), ...best, element(document, "p", { text: whatIfWords(what_if, asked.size.factor, asked.fault) })];
}

/** @param {HTMLElement} root @returns {string} the fields of the form with their values; those that choose for themselves are left out */
function setUpWords(root) {
  const words = allOf(root, ".set-field").map((box) => {
    const field = /** @type {any} */ (found(box, "input, select"));
    const value = field.selectedOptions ? field.selectedOptions[0]?.textContent : field.value;
    return field.disabled || !value ? "" : `${required(box, "label").textContent}: ${value}`;
  });
  return `${words.filter(Boolean).join("; ")}.`;
}
