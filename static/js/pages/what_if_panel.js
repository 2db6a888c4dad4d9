/**
 * The panel “What would have helped”: the same seed and failure simulated again with one change at a time.
 * The table is filled while the server runs the variants beside the lab, for each failover or each group. Each row opens as a new lab at
 * the instant of its case.
 */

import { seconds } from "../model/format.js";
import { inOrder } from "../model/variants.js";
import { element } from "../render/dom.js";
import { caseChooser, chosenCase } from "../render/case_chooser.js";
import { headline, table } from "../render/what_if_table.js";

const ASK_EVERY_MS = 600;
/** @type {import("./panel_list.js").Panel} */
export const WHAT_IF = { name: "what-if", title: "What would have helped", needs: ["peers", "groups"], simulated: true, make };

function make(section, { document, window, requests, base, getState, say, wake }) {
  section.classList.add("what-if");
  const status = element(document, "p.quiet", { role: "status" });
  const content = element(document, "div", {});
  const beside = element(document, "p.quiet", { hidden: true }, [element(document, "a", { href: `${base}compare/`, text: "Compare this run under three strategies" })]);
  section.replaceChildren(content, status, beside);
  const page = { document, base, getState };
  const acts = (line, real) => [opener(page, line, real), ...(line === real ? [] : [" ", besideLink(page, line)])];
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
    content.replaceChildren(...caseChooser(document, answer.noun, labels, number, (next) => ((chosen = next), write())), ...headline(document, answer, ordered), table(document, answer, ordered, acts));
  }

  status.textContent = "Running it again…";
  return {
    update(state, watched, { loading }) {
      const wanted = [state.view.branch, state.view.furthest_us, state.view.seq].join("|");
      if (asking || loading || wanted === key || (state.playing && answer)) return; // the entries of the picture are requested before the re-runs begin
      key = wanted;
      ask();
    },
  };
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
