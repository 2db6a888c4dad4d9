/**
 * “What would have helped”: the same seed and failure run again with one thing changed at a time, as a table that fills
 * while the server runs them beside the lab. Each row opens as a lab of one's own at the failover's instant.
 */

import { span, whole } from "../model/format.js";
import { inOrder, mostHelpful } from "../model/variants.js";
import { element } from "../render/dom.js";
import { chosenFailover, failoverChooser } from "../render/failover_chooser.js";

const ASK_EVERY_MS = 600;
const COLUMNS = [
  ["seen twice", "duplicates"],
  ["redelivered", "redeliveries"],
  ["stranded", "stranded"],
  ["lost", "lost"],
];

/** @type {import("./panel_list.js").Panel} */
export const WHAT_IF = { name: "what-if", title: "What would have helped", needs: "topics", make };

function make(section, { document, window, requests, base, getState, say, wake }) {
  section.classList.add("what-if");
  const status = element(document, "p.quiet", { role: "status" });
  const content = element(document, "div", {});
  const beside = element(document, "p.quiet", {}, [element(document, "a", { href: `${base}compare/`, text: "This run under three strategies, side by side" })]);
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
    const failovers = answer.variants[0].failovers;
    if (failovers.length === 0) {
      content.replaceChildren(element(document, "p.lead-in", { text: "Nobody moves to another region in this run, so there is nothing to compare. Press O to move the consumers." }));
      return;
    }
    const number = chosenFailover(failovers, chosen, getState());
    const lines = inOrder(answer, number);
    content.replaceChildren(...failoverChooser(document, failovers, number, (next) => ((chosen = next), write())), headline(lines), table(lines));
  }

  function headline(lines) {
    const best = mostHelpful(lines);
    const twice = whole(lines.real.figures.duplicates);
    const words = best
      ? ["The same run and the same failure, with one thing changed at a time. What helps most: ", element(document, "b", { text: best.name }), `. ${best.difference}.`]
      : [answer.state === "running" ? `The same run and the same failure, with one thing changed at a time: ${twice} came twice as it was.` : `With one thing changed at a time, nothing helps: ${twice} came twice as it was.`];
    return element(document, "p.lead-in", {}, words);
  }

  function table({ real, changed, same }) {
    const most = Math.max(1, ...[real, ...changed].map((line) => line.figures.duplicates ?? 0));
    const head = element(document, "tr", {}, ["", ...COLUMNS.map(([name]) => name), "out of service", "difference", ""].map((text) => element(document, `th${text === "difference" ? ".words" : ""}`, { text, scope: "col" })));
    const rows = [rowOf(real, real, most, "real"), ...changed.map((line) => rowOf(line, real, most, "")), ...same.map((line) => rowOf(line, real, most, "same"))];
    return element(document, "div.scrolls", { tabindex: 0, role: "region", "aria-label": "Table of changed runs" }, [element(document, "table", {}, [element(document, "thead", {}, [head]), element(document, "tbody", {}, rows)])]);
  }

  function rowOf(line, real, most, kind) {
    const { figures } = line;
    const cells = COLUMNS.map(([, name]) => figureCell(figures[name], real.figures[name], name === "duplicates" ? most : 0));
    const outage = figures.outage_us === undefined || figures.outage_us === null ? "–" : figures.outage_us ? span(figures.outage_us) : "no time";
    const words = kind === "real" ? "what happened" : line.difference;
    return element(document, `tr${kind ? `.${kind}` : ""}`, {}, [
      element(document, "th", { scope: "row", text: line.name }),
      ...cells,
      element(document, "td", { text: outage }),
      element(document, "td.words", { text: words }),
      element(document, "td", {}, [opener(line, real)]),
    ]);
  }

  function figureCell(value, was, most) {
    if (value === undefined) return element(document, "td", { text: "–" });
    const cell = element(document, `td${value > was ? ".more" : value < was ? ".fewer" : ""}`, { text: whole(value) });
    if (most) {
      const bar = element(document, "span.share", { "aria-hidden": "true" });
      bar.style.width = `${(100 * value) / most}%`;
      cell.append(element(document, "span.track", { "aria-hidden": "true" }, [bar]));
    }
    return cell;
  }

  /** A plain form: it works without scripts, and opens beside this lab. */
  function opener(line, real) {
    const fields = { key: line.key, at_us: real.figures.at_us };
    return element(document, "form", { method: "post", action: `${base}variants/`, target: "_blank" }, [
      ...Object.entries(fields).map(([name, value]) => element(document, "input", { type: "hidden", name, value })),
      element(document, "button.plain", { type: "submit", "aria-label": `Open the run with ${line.name} as a lab of your own`, text: "open" }),
    ]);
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
