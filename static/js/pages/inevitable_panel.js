/** The re-runs that the panel “When inevitable?” shows: starts them on the server, requests the results as they arrive, cancels them. */

import { counted, whole } from "../model/format.js";
import { answerWords, drawWords, lossWords, queryOf, statusWords } from "../model/inevitable.js";
import { element, found } from "../render/dom.js";
import { inevitableChart } from "../render/inevitable_chart.js";
import { inevitableForm } from "../render/inevitable_form.js";
import { inevitableTable, pointParts } from "../render/inevitable_table.js";

const ASK_EVERY_MS = 500;

const wordsOf = (reason) => [reason.message, reason.hint].filter(Boolean).join(" ");

/**
 * @param {{window: Window, requests: any, base: string, shown: () => boolean, onChange: (words?: string) => void}} parts
 *   `shown`: whether the panel is shown; without it nothing is requested, and the server ends the re-runs after a while
 */
export function makeInevitableStudy({ window, requests, base, shown, onChange }) {
  let query = null;
  let answer = null;
  let more_than = "";
  let asking = false;
  let waiting = false;

  const running = () => answer === null || answer.state === "running";

  async function ask() {
    if (asking || !query) return;
    const asked = query;
    const number = more_than;
    asking = true;
    try {
      const next = await requests.get(`${base}inevitable.json?${queryOf({ ...asked, more_than, id: answer?.id })}`);
      if (asked === query && answer?.state !== "cancelled") answer = { ...next, failure: Number(asked.failure) };
      onChange();
    } catch (reason) {
      if (answer && asked === query) answer = { ...answer, state: "stopped" };
      else query = null;
      onChange(wordsOf(reason));
    }
    asking = false;
    if (query && (running() || number !== more_than) && shown()) later();
  }

  function later() {
    waiting = true;
    window.setTimeout(() => ((waiting = false), shown() && ask()), ASK_EVERY_MS);
  }

  async function cancel() {
    const failed = await requests.post(`${base}inevitable/cancel/?${queryOf(query)}`, {}).then(() => null, wordsOf);
    if (answer && !failed) answer = { ...answer, state: "cancelled" };
    onChange(failed ?? undefined);
  }

  return {
    answer: () => answer,
    query: () => query,
    cancel,
    start(next) {
      query = next;
      answer = null;
      ask();
    },
    /** Another number of duplicates: the re-runs stay. */
    askFor(number) {
      more_than = number;
      if (answer?.state === "running" || answer?.state === "done") ask();
    },
    /** Goes on after the panel was hidden. */
    resume() {
      if (query && running() && !asking && !waiting) ask();
    },
  };
}

/**
 * The panel “When inevitable?”: the run is run again with fresh random draws from instants before its failover.
 * The curve and its table grow as the results arrive. A point goes to its instant and offers its worst re-run.
 */


const NARROWEST_PX = 280;
const INTRODUCTION =
  "When was the outcome decided? The run is run again with fresh random draws from instants before the failover; its past stays as it was. The curve is the share of re-runs with more duplicates.";

/** @type {import("./panel_list.js").Panel} */
export const INEVITABLE = { name: "inevitable", title: "When inevitable?", needs: ["peers", "groups"], simulated: true, make };

function make(section, parts) {
  const { document, window, requests, base, getState, wake, link } = parts;
  section.classList.add("inevitable");
  const page = skeleton(document);
  const form = inevitableForm(document, { onStart: start, onCancel: () => study.cancel(), onMoreThan: (number) => study.askFor(number) });
  const study = makeInevitableStudy({ window, requests, base, shown: () => !section.hidden, onChange: write });
  let chosen = null; // instant of a point
  let drawn = "";
  section.replaceChildren(page.lead, page.loss, form.node, page.status, page.chart, page.key, page.point, page.table);

  function start() {
    const { view } = getState();
    chosen = null;
    study.start({ branch: view.branch, until_us: view.furthest_us, ...form.values() });
    write("Running it as it was…");
  }

  function write(words) {
    fill(words);
    wake();
  }

  function fill(words) {
    const answer = study.answer();
    page.status.textContent = words ?? statusWords(answer);
    page.status.hidden = !page.status.textContent;
    page.lead.textContent = (answer && answerWords(answer)) || INTRODUCTION;
    page.loss.textContent = answer ? [actualWords(answer.actual), lossWords(answer), drawWords(study.query())].filter(Boolean).join(" ") : "";
    form.show(answer, Boolean(study.query()));
    drawn = "";
  }

  function draw(state) {
    const answer = study.answer();
    const points = answer?.points ?? [];
    const width = Math.max(NARROWEST_PX, page.chart.clientWidth);
    const key = [answer?.id, answer?.done, answer?.more_than, answer?.state, width, chosen, state.at_us].join("|");
    if (key === drawn) return;
    drawn = key;
    page.key.hidden = points.length === 0;
    if (points.length === 0) for (const part of [page.chart, page.table, page.point]) part.replaceChildren();
    else drawPoints(document, page, answer, { base, branch: study.query().branch, now_us: state.at_us, width, chosen, onChoose: choose });
  }

  function choose(at_us) {
    chosen = at_us;
    link.seek(at_us);
    wake();
  }

  fill(""); // without a further drawing: a panel that the address names is made before the page is complete
  return {
    update(state) {
      study.resume();
      draw(state);
    },
  };
}

/** Draws the curve, its table and the chosen point; a point keeps the focus while the curve grows. */
function drawPoints(document, page, answer, { base, branch, now_us, width, chosen, onChoose }) {
  const { points, more_than, failures, failure } = answer;
  const focused = page.chart.contains(document.activeElement) ? document.activeElement.getAttribute("data-at") : null;
  page.chart.replaceChildren(inevitableChart(document, { points, more_than, from_us: points[0].at_us, to_us: failures[failure].at_us, now_us, width, chosen, onChoose }));
  page.table.replaceChildren(inevitableTable(document, answer, onChoose));
  const point = points.find(({ at_us }) => at_us === chosen);
  page.point.replaceChildren(...(point ? pointParts(document, base, answer, point, branch) : []));
  if (focused) found(page.chart, `button[data-at="${focused}"]`)?.focus();
}

function skeleton(document) {
  const swatch = (kind, text) => element(document, "span", {}, [element(document, `i.${kind}`, { "aria-hidden": "true" }), ` ${text}`]);
  return {
    lead: element(document, "p.lead-in", {}),
    loss: element(document, "p.soft", {}),
    status: element(document, "p.quiet", { role: "status" }),
    chart: element(document, "div", {}),
    key: element(document, "p.key.quiet", {}, [swatch("more", "more duplicates, with its 95 % interval (Wilson)"), swatch("loss", "at least one message lost"), swatch("failover", "the failover")]),
    point: element(document, "div.chosen", { role: "status" }),
    table: element(document, "div", {}),
  };
}

const actualWords = (actual) => (actual ? `The run itself has ${counted(actual.duplicates, "duplicate")}${actual.lost ? ` and ${whole(actual.lost)} lost` : ""}.` : "");
