/**
 * The panel “What would have helped”: the same seed and failure simulated again with one change at a time.
 * The table is filled while the server runs the variants beside the lab, for each failover or each group. Each row opens as a new lab at
 * the instant of its case.
 */

import { capitalised, seconds, span, whole } from "../model/format.js";
import { inOrder } from "../model/variants.js";
import { element } from "../render/dom.js";
import { headCell } from "../render/terms.js";
import { caseChooser, chosenCase } from "../render/case_chooser.js";

const ASK_EVERY_MS = 600;
/** @type {import("./panel_list.js").Panel} */
export const WHAT_IF = { name: "what-if", title: "What would have helped", needs: ["peers", "groups"], simulated: true, make };

function make(section, { document, window, requests, base, getState, say, wake }) {
  section.classList.add("what-if");
  const status = element(document, "p.quiet", { role: "status" });
  const content = element(document, "div", {});
  const beside = element(document, "p.quiet", { hidden: true }, [element(document, "a", { href: `${base}compare/`, text: "Compare this run under three strategies" })]);
  section.replaceChildren(content, status, beside);
  let answer = null;
  let chosen = null;
  let key = "";
  let asking = false;

  async function ask() {
    asking = true;
    try {
      answer = await requests.get(`${base}what-if.json`);
      write();
      if (answer.state === "running" && !section.hidden) window.setTimeout(ask, ASK_EVERY_MS);
      else asking = false;
    } catch (reason) {
      asking = false;
      status.textContent = `${reason.message} ${reason.hint ?? ""}`;
      say({ error: reason.message, hint: reason.hint });
    }
    wake();
  }

  function write() {
    const done = answer.variants.length;
    status.textContent = answer.state === "running" ? `Running ${done + 1} of ${answer.of}: ${answer.running}…` : answer.words;
    status.hidden = !status.textContent;
    if (done === 0) return;
    const { cases } = answer.variants[0];
    beside.hidden = answer.noun !== "failover"; // strategies apply to replicated subscriptions only
    if (cases.length === 0) {
      content.replaceChildren(element(document, "p.lead-in", { text: answer.nothing }));
      return;
    }
    const number = chosenCase(cases, chosen, getState());
    const ordered = inOrder(answer, number);
    const labels = cases.map(({ at_us, label }) => `${seconds(at_us)} s: ${label}`);
    content.replaceChildren(...caseChooser(document, answer.noun, labels, number, (next) => ((chosen = next), write())), ...headline(document, answer, ordered), table({ document, base, getState }, answer, ordered));
  }

  status.textContent = "Running it again…";
  return {
    update(state) {
      const wanted = [state.view.branch, state.view.furthest_us, state.view.seq].join("|");
      if (asking || wanted === key || (state.playing && answer)) return;
      key = wanted;
      ask();
    },
  };
}

/** @returns {HTMLElement[]} the sentence, and the settings to paste; nothing is recommended before every change has run */
function headline(document, answer, { real, best }) {
  const [{ name: first, title }] = answer.columns;
  const was = `${title}: ${whole(real.figures[first])}`;
  const begins = "The same run and failure with one change at a time. ";
  if (!best) return [element(document, "p.lead-in", { text: `${begins}${answer.done ? "No setting helps. " : ""}Unchanged: ${was}.` })];
  const price = best.price_words ? `, at the price of ${best.price_words}` : "";
  const words = [`${begins}The setting that helps most: `, element(document, "b", { text: best.name }), `. ${capitalised(best.difference)}${price}.`];
  return [element(document, "p.lead-in", {}, words), placed(document, best.settings)];
}

/** The settings of a change, each as a line to paste and where it belongs. */
function placed(document, settings) {
  return element(document, "ul.placed", {}, settings.map(({ paste, where }) => element(document, "li", {}, [element(document, "code", { text: paste }), " ", element(document, "span.quiet", { text: where })])));
}

function table(page, answer, { lines, real }) {
  const { document } = page;
  const first = answer.columns[0].name;
  const most = Math.max(1, ...lines.map((line) => line.figures?.[first] ?? 0));
  const titles = [headCell(document, "col", "change"), ...answer.columns.map(({ title }, at) => headCell(document, "col", title, at ? ".detail" : ""))];
  const head = element(document, "tr", {}, [...titles, headCell(document, "col", "difference", ".words"), headCell(document, "col", "price", ".words"), headCell(document, "col", "as a lab")]);
  const rows = lines.map((line) => rowOf(page, answer, line, real, most));
  return element(document, "div.scrolls", { tabindex: 0, role: "region", "aria-label": "Table of changed runs" }, [element(document, "table", {}, [element(document, "thead", {}, [head]), element(document, "tbody", {}, rows)])]);
}

function rowOf(page, answer, line, real, most) {
  const kind = line.group === "changed" ? "" : line.group;
  const cells = answer.columns.map(({ name, unit }, at) => figureCell(page.document, line.figures?.[name] ?? null, real.figures[name], unit, at ? 0 : most));
  const words = kind === "real" ? "actual run" : line.difference;
  return element(page.document, `tr${kind ? `.${kind}` : ""}`, {}, [
    element(page.document, "th", { scope: "row" }, [line.name, ...(line.assumes ? [element(page.document, "span.quiet", { text: ` (${line.assumes})` })] : []), ...(line.settings.length ? [placed(page.document, line.settings)] : [])]),
    ...cells,
    element(page.document, "td.words", { text: words }),
    element(page.document, "td.words", { text: line.price_words }),
    element(page.document, "td", {}, [opener(page, line, real), ...(kind === "real" ? [] : [" ", besideLink(page, line)])]),
  ]);
}

/** `most` is the value of a full bar; 0 draws no bar. */
function figureCell(document, value, was, unit, most) {
  const kind = most ? "" : ".detail";
  if (value === null) return element(document, `td${kind}`, { text: "–" });
  const changed = was === null || value === was ? "" : value > was ? ".more" : ".fewer";
  const cell = element(document, `td${kind}${changed}`, { text: unit === "count" ? whole(value) : value ? span(value) : "0 ms" });
  if (most) {
    const bar = element(document, "span.share", { "aria-hidden": "true" });
    bar.style.width = `${(100 * value) / most}%`;
    cell.append(element(document, "span.track", { "aria-hidden": "true" }, [bar]));
  }
  return cell;
}

/** The run with this change and the run as it was, on one clock. */
function besideLink({ document, base, getState }, line) {
  return element(document, "a", { href: `${base}beside/?left=branch-${getState().view.branch}&right=variant-${line.key}`, "aria-label": `compare the run with ${line.name} with the run as it was`, text: "compare" });
}

/** A plain form: it works without scripts and opens in a new tab. */
function opener({ document, base }, line, real) {
  const fields = { key: line.key, at_us: real.at_us };
  return element(document, "form", { method: "post", action: `${base}variants/`, target: "_blank" }, [
    ...Object.entries(fields).map(([name, value]) => element(document, "input", { type: "hidden", name, value })),
    element(document, "button.plain", { type: "submit", "aria-label": `Open the run with ${line.name} as a lab of your own`, text: "open" }),
  ]);
}
