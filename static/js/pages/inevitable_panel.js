/** The re-runs that the panel “When inevitable?” shows: starts them on the server, requests the results as they arrive, cancels them. */

import { counted, seconds, whole } from "../model/format.js";
import { allOf, element, found, svgNode } from "../render/dom.js";
import { columnHeads } from "../render/terms.js";

/** Texts and addresses of “When did it become inevitable?”: the answer, one point of the curve, the query. Independent of the page. */

/** Limits of the inputs and what they are at first, as `simulator.inevitable` has them (tests/visualizer/test_inevitable.py). */
export const INPUTS = {
  reruns: { words: "re-runs per instant", first: 30, least: 5, most: 100 },
  instants: { words: "instants", first: 16, least: 2, most: 20 },
  periods: { words: "snapshot periods or heartbeats before the failover", first: 3, least: 1, most: 20 },
  spread: { words: "% that constant durations may be shorter", first: 20, least: 0, most: 90 },
};

export const MORE_THAN_MAX = 1_000_000;

/**
 * @typedef {object} Share
 * @property {number} hits
 * @property {number} share millionths, as are `low` and `high`
 * @property {number} low
 * @property {number} high
 */
/**
 * @typedef {object} CurvePoint
 * @property {number} at_us
 * @property {number} runs
 * @property {number} failed
 * @property {Share} more
 * @property {Share} loss
 * @property {[number, number, number]} duplicates least, median, most
 * @property {{number: number, duplicates: number, lost: number}} worst
 * @property {string} key of the worst re-run
 */

/** @param {number} millionths @returns {string} "43 %" */
export const percent = (millionths) => `${Math.round(millionths / 10_000)} %`;

/** @param {Share} share @returns {string} "60 % (42 to 75 %)" */
export const shareWords = ({ share, low, high }) => `${percent(share)} (${Math.round(low / 10_000)} to ${percent(high)})`;

/** @param {Object<string, string | number | undefined>} query @returns {string} the query string; what is not given is left out */
export function queryOf(query) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
}

/** @returns {string} what is asked for */
export const moreWords = (more_than) => `more than ${counted(more_than, "duplicate")}`;

/** The answer in one sentence. @param {any} answer @returns {string} */
export function answerWords({ points, decided, more_than, same, failures, failure }) {
  if (!decided || points.length === 0) return "";
  const first = points[0];
  const none = failures[failure].at_us;
  if (same) return `All re-runs have the same figures, so no random draw matters: ${counted(first.worst.duplicates, "duplicate")} each.`;
  if (!decided.more) return `It stays open until the failover at ${seconds(none)} s whether there are ${moreWords(more_than)}: ${percent(points.at(-1).more.share)} of the re-runs from there have them.`;
  const { at_us, yes } = decided.more;
  const result = yes ? `every re-run has ${moreWords(more_than)}` : `no re-run has ${moreWords(more_than)}`;
  if (at_us === first.at_us) return `From the earliest instant on, ${seconds(at_us)} s, ${result}.`;
  return `From ${seconds(at_us)} s on, ${result}. Of the re-runs from ${seconds(first.at_us)} s, ${percent(first.more.share)} have more.`;
}

/**
 * What re-runs draw at random beside what the scenario does, in one sentence.
 * @param {{spread?: string | number, arrivals?: string} | null} query
 * @returns {string}
 */
export function drawWords(query) {
  const parts = [Number(query?.spread) > 0 ? `constant durations up to ${query.spread} % shorter` : "", query?.arrivals === "poisson" ? "random intervals of producers" : ""].filter(Boolean);
  return parts.length ? `Re-runs also draw what this scenario holds constant: ${parts.join(", and ")}.` : "";
}

/** What is known about losses, in one sentence. @param {any} answer @returns {string} */
export function lossWords({ points, decided }) {
  if (!decided || points.every(({ loss }) => loss.hits === 0)) return "";
  const from = decided.loss?.yes ? ` From ${seconds(decided.loss.at_us)} s on, every re-run loses a message.` : "";
  return `Probability of at least one lost message: ${shareWords(points[0].loss)} at ${seconds(points[0].at_us)} s.${from}`;
}

/** @param {CurvePoint} point @param {number} more_than @returns {string} */
export function pointWords(point, more_than) {
  const [least, median, most] = point.duplicates;
  const failed = point.failed ? ` ${counted(point.failed, "re-run")} could not be carried out.` : "";
  return `${seconds(point.at_us)} s: ${point.more.hits} of ${point.runs} re-runs have ${moreWords(more_than)}, ${shareWords(point.more)}. Duplicates: ${whole(least)} to ${whole(most)}, median ${whole(median)}.${failed}`;
}

/** Progress, or why there is no answer. @param {any} answer null while there is none @returns {string} */
export function statusWords(answer) {
  if (!answer || answer.state === "done") return "";
  if (answer.state === "refused" || answer.state === "failed") return [answer.words, answer.hint].filter(Boolean).join(" ");
  if (answer.state === "cancelled") return `Cancelled after ${whole(answer.done)} of ${counted(answer.of, "re-run")}.`;
  return answer.of ? `${whole(answer.done)} of ${counted(answer.of, "re-run")} done…` : "Running it as it was…";
}

/** @param {CurvePoint} point @returns {string} */
export function worstWords({ worst }) {
  return `Worst re-run: ${counted(worst.duplicates, "duplicate")}${worst.lost ? `, ${whole(worst.lost)} lost` : ""}.`;
}

/**
 * Draws the probability over the instants before a failover: a line with its 95 % interval, a dashed line for losses, and a button for each point.
 * The row of buttons is one tab stop; the arrow keys move in time.
 */

const HEIGHT_PX = 190;
const TOP_PX = 10;
const BOTTOM_PX = 24;
const LEFT_PX = 44;
const RIGHT_PX = 16;
/** Shortest distance between two labels of the time axis, px. */
const LABEL_PX = 70;

/**
 * @param {Document} document
 * @param {{points: CurvePoint[], more_than: number, from_us: number, to_us: number, now_us: number, width: number, chosen: number | null, onChoose: (at_us: number) => void}} given
 */
export function inevitableChart(document, { points, more_than, from_us, to_us, now_us, width, chosen, onChoose }) {
  const along = (at_us) => LEFT_PX + ((at_us - from_us) / Math.max(1, to_us - from_us)) * (width - LEFT_PX - RIGHT_PX);
  const up = (millionths) => TOP_PX + (1 - millionths / 1e6) * (HEIGHT_PX - TOP_PX - BOTTOM_PX);
  const svg = svgNode(document, "svg", { width, height: HEIGHT_PX, viewBox: `0 0 ${width} ${HEIGHT_PX}`, "aria-hidden": "true" });
  drawAxes(document, svg, { points, along, up, width, to_us, now_us, from_us });
  const place = (name, part) => points.map((point) => `${along(point.at_us)},${up(point[name][part])}`);
  svg.append(svgNode(document, "polygon", { class: "interval", points: [...place("more", "high"), ...place("more", "low").reverse()].join(" ") }));
  if (points.some(({ loss }) => loss.hits > 0)) svg.append(svgNode(document, "polyline", { class: "loss", points: place("loss", "share").join(" ") }));
  svg.append(svgNode(document, "polyline", { class: "more", points: place("more", "share").join(" ") }));
  const stop = points.find(({ at_us }) => at_us === chosen) ?? points[0];
  const buttons = points.map((point) => {
    const button = element(document, "button.point", {
      type: "button",
      tabindex: point === stop ? 0 : -1,
      "data-at": point.at_us,
      "aria-pressed": String(point.at_us === chosen),
      "aria-label": `${pointWords(point, more_than)} Goes to this instant.`,
      onclick: () => onChoose(point.at_us),
    });
    button.style.left = `${along(point.at_us)}px`;
    button.style.top = `${up(point.more.share)}px`;
    return button;
  });
  const chart = element(document, "div.chart", { role: "group", "aria-label": `Probability of more than ${more_than} duplicates over time; the table below has the figures` }, [svg, ...buttons]);
  chart.addEventListener("keydown", (event) => walk(event, buttons));
  return chart;
}

function drawAxes(document, svg, { points, along, up, width, to_us, now_us, from_us }) {
  for (const share of [0, 500_000, 1_000_000]) {
    svg.append(svgNode(document, "line", { class: "grid", x1: LEFT_PX, x2: width - RIGHT_PX, y1: up(share), y2: up(share) }));
    svg.append(svgNode(document, "text", { x: LEFT_PX - 8, y: up(share) + 4, "text-anchor": "end" }, percent(share)));
  }
  let labelled_px = Infinity;
  for (const { at_us } of [...points].reverse()) {
    if (labelled_px - along(at_us) < LABEL_PX) continue;
    labelled_px = along(at_us);
    svg.append(svgNode(document, "text", { x: labelled_px, y: HEIGHT_PX - 6, "text-anchor": at_us === to_us ? "end" : "middle" }, `${seconds(at_us)} s`));
  }
  svg.append(svgNode(document, "line", { class: "failover", x1: along(to_us), x2: along(to_us), y1: TOP_PX, y2: HEIGHT_PX - BOTTOM_PX }));
  if (now_us >= from_us && now_us <= to_us) svg.append(svgNode(document, "line", { class: "now", x1: along(now_us), x2: along(now_us), y1: TOP_PX, y2: HEIGHT_PX - BOTTOM_PX }));
}

const STEPS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };

function walk(event, buttons) {
  if (!(event.key in STEPS) && event.key !== "Home" && event.key !== "End") return;
  event.preventDefault();
  event.stopPropagation();
  const at = buttons.indexOf(event.target);
  const next = event.key === "Home" ? buttons[0] : event.key === "End" ? buttons.at(-1) : buttons[at + STEPS[event.key]];
  next?.focus();
}

/** The inputs of the panel “When inevitable?”: duplicates, failover, and how the run is run again. */

/** @param {Document} document @param {{onStart: () => void, onCancel: () => void, onMoreThan: (number: string) => void}} acts */
export function inevitableForm(document, { onStart, onCancel, onMoreThan }) {
  const more_than = element(document, "input", { type: "number", name: "more_than", min: 0, max: MORE_THAN_MAX, step: 1, placeholder: "median", "aria-describedby": "more-than-hint" });
  const numbers = Object.entries(INPUTS).map(([name, { first, least, most }]) => element(document, "input", { type: "number", name, min: least, max: most, step: 1, value: first, required: true }));
  const arrivals = element(document, "input", { type: "checkbox", name: "arrivals", checked: true });
  const failure = element(document, "select", { name: "failure" });
  let answered = false;
  const which = element(document, "label", { hidden: true }, ["before ", failure]);
  const run = element(document, "button.action", { type: "submit", text: "Run" });
  const cancel = element(document, "button", { type: "button", hidden: true, text: "Cancel", onclick: onCancel });
  const node = element(document, "form", {}, [
    element(document, "p.first", {}, [element(document, "label", {}, ["More than ", more_than, " duplicates"]), which, run, cancel]),
    element(document, "p.quiet", { id: "more-than-hint", text: "Without a number: the median of the re-runs from the earliest instant." }),
    element(document, "details", {}, [
      element(document, "summary", { text: "How it is run again" }),
      ...numbers.map((input) => element(document, "label", {}, [input, ` ${INPUTS[input.name].words}`])),
      element(document, "label", {}, [arrivals, " producers with regular intervals publish at random intervals of the same mean"]),
    ]),
  ]);
  node.addEventListener("submit", (event) => {
    event.preventDefault();
    onStart();
  });
  const ask = () => more_than.reportValidity() && onMoreThan(more_than.value);
  more_than.addEventListener("change", ask);
  more_than.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !answered) return; // another number needs no further run
    event.preventDefault();
    ask();
  });
  return {
    node,
    values: () => ({ failure: failure.value || 0, ...Object.fromEntries(numbers.map(({ name, value }) => [name, value])), arrivals: arrivals.checked ? "poisson" : "as-declared" }),
    /** @param {any} answer null before the first one @param {boolean} asked whether re-runs were started */
    show(answer, asked) {
      answered = Boolean(answer);
      const running = asked && (!answer || answer.state === "running");
      run.disabled = running;
      run.textContent = answer ? "Run again" : "Run";
      cancel.hidden = !running || !answer;
      if (answer) more_than.placeholder = String(answer.more_than);
      offer(document, which, failure, answer?.failures ?? []);
    },
  };
}

/** A choice of the failover, where the run has several. */
function offer(document, label, select, failures) {
  label.hidden = failures.length < 2;
  if (allOf(select, "option").length === failures.length) return;
  const chosen = select.value;
  select.replaceChildren(...failures.map(({ at_us, label: words }, at) => element(document, "option", { value: at, selected: String(at) === chosen, text: `${seconds(at_us)} s: ${words}` })));
}

/** The table of the curve of “When inevitable?”, and what is offered for a chosen point. */

/** @param {Document} document @param {any} answer @param {(at_us: number) => void} onChoose */
export function inevitableTable(document, { points, more_than }, onChoose) {
  const rows = points.map((point) =>
    element(document, "tr", {}, [
      element(document, "th", { scope: "row" }, [element(document, "button.plain", { type: "button", "aria-label": `Go to ${seconds(point.at_us)} s`, text: `${seconds(point.at_us)} s`, onclick: () => onChoose(point.at_us) })]),
      element(document, "td", { text: shareWords(point.more) }),
      element(document, "td", { text: shareWords(point.loss) }),
      element(document, "td", { text: point.duplicates.map(whole).join(", ") }),
      element(document, "td", { text: whole(point.runs) }),
    ]),
  );
  const heads = columnHeads(document, [{ name: "instant" }, { name: moreWords(more_than) }, ["a message lost", "lost"], ["least, median, most duplicates", "duplicates"], { name: "re-runs" }]);
  const head = element(document, "tr", {}, heads);
  return element(document, "details", { open: true }, [
    element(document, "summary", { text: "Table of the curve" }),
    element(document, "div.scrolls", { tabindex: 0, role: "region", "aria-label": "Table of probabilities" }, [element(document, "table", {}, [element(document, "caption", { text: "Probability, with its 95 % interval (Wilson)" }), element(document, "thead", {}, [head]), element(document, "tbody", {}, rows)])]),
  ]);
}

/** @param {Document} document @param {string} base @param {any} answer @param {CurvePoint} point @param {number} branch */
export function pointParts(document, base, answer, point, branch) {
  const fields = { key: point.key, at_us: answer.failures[answer.failure].at_us };
  const open = element(document, "form", { method: "post", action: `${base}variants/`, target: "_blank" }, [
    ...Object.entries(fields).map(([name, value]) => element(document, "input", { type: "hidden", name, value })),
    element(document, "button.plain", { type: "submit", text: "open as a lab" }),
  ]);
  const beside = element(document, "a", { href: `${base}beside/?left=branch-${branch}&right=${point.key}`, text: "compare with this run" });
  return [element(document, "p", { text: pointWords(point, answer.more_than) }), element(document, "p", {}, [worstWords(point), " ", open, " ", beside])];
}

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

/** @type {import("./panels.js").Panel} */
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
