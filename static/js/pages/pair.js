/** The page of two runs: one clock that plays, pauses and seeks both labs, and the figures of both. */

import { capitalised, counted, seconds, span, whole } from "../model/format.js";
import { plainWordsOf } from "../model/event_rows.js";
import { element, found, required, setText } from "../render/dom.js";
import { headCell } from "../render/terms.js";
import { RequestError, makeRequests, untilDone } from "../wire/http.js";
import { textOf } from "../wire/text_link.js";
import { keepToken } from "../wire/token.js";

const LOOK_EVERY_MS = 100;
/** Steps of the slider, as fine as a pixel of a wide screen. */
const STEPS = 2000;

/**
 * @param {object} parts
 * @param {Document} parts.document
 * @param {HTMLElement} parts.root
 * @param {import("../render/dom.js").PageWindow} parts.window
 * @param {any[]} parts.labs the two labs' pages
 * @param {number} parts.until_us end of the clock
 */
export function makePairClock({ document, root, window, labs, until_us }) {
  const bar = required(root, "[data-part=steering]");
  const scrub = /** @type {HTMLInputElement} */ (required(bar, "input[data-part=scrub]"));
  const shown = required(bar, "output[data-part=clock]");
  const button = required(bar, "button[data-act=play]");
  let asked_us = -1;
  bar.hidden = false;
  scrub.max = String(STEPS);

  const at_us = () => labs[0].getState().at_us;
  const playing = () => labs.some((lab) => lab.getState().playing);

  function seek(to_us) {
    asked_us = Math.max(0, Math.min(until_us, Math.round(to_us)));
    for (const lab of labs) lab.link.seek(asked_us);
    write(asked_us);
  }

  /** Both labs pause at their own instant, so the second goes to that of the first. */
  function pause() {
    for (const lab of labs) lab.link.pause();
    window.setTimeout(() => seek(at_us()), 2 * LOOK_EVERY_MS);
  }

  function toggle() {
    if (playing()) pause();
    else for (const lab of labs) lab.link.play(1);
  }

  function write(us) {
    setText(shown, `${seconds(us)} s`);
    scrub.value = String(Math.round((us / until_us) * STEPS));
  }

  scrub.addEventListener("input", () => seek((Number(scrub.value) / STEPS) * until_us));
  button.addEventListener("click", toggle);
  document.addEventListener("keydown", (event) => {
    if (event.key !== " " || event.target instanceof window.HTMLElement && event.target.closest("button, input, a, summary")) return;
    event.preventDefault();
    toggle();
  });
  /** Both time panels show the longer of the two spans on the shorter of the two axes. */
  function shareAxis() {
    const axes = labs.map((lab) => lab.timeAxis()).filter(Boolean);
    if (axes.length < labs.length) return;
    const shared = { span_us: Math.max(...axes.map(({ span_us }) => span_us)), x1: Math.min(...axes.map(({ x1 }) => x1)) };
    for (const lab of labs) lab.shareTimeAxis(shared);
  }

  window.setInterval(() => {
    shareAxis();
    setText(button, playing() ? "Pause" : "Play");
    if (playing() && at_us() >= until_us) pause();
    if (at_us() === asked_us) asked_us = -1;
    if (playing() || asked_us < 0) write(at_us());
  }, LOOK_EVERY_MS);
  return { seek };
}

/** The list of events that only one of two runs has, in order of time. A click goes there in both and shows the causes of the event. */

const SIDES = ["left", "right"];

/**
 * @param {{document: Document, root: HTMLElement, clock: {seek: (at_us: number) => void}, labs: any[]}} parts
 * @param {{first: any, events: {at_us: number, side: string, row: any}[], more: boolean}} found
 */
export function makeDifferences({ document, root, clock, labs }, found) {
  const list = required(root, "[data-part=differences]");
  const lines = found.events.map((event) => lineOf(event));
  list.replaceChildren(...lines.map(({ node }) => node));
  required(root, "[data-part=differences-title]").hidden = lines.length === 0;
  required(root, "[data-part=more]").hidden = !found.more;
  let chosen = -1;
  for (const [act, by] of Object.entries({ previous: -1, next: 1 })) {
    const button = required(root, `button[data-act=${act}]`);
    button.disabled = lines.length === 0;
    button.addEventListener("click", () => choose(Math.max(0, Math.min(lines.length - 1, chosen + by))));
  }

  function lineOf(event) {
    const at = found.events.indexOf(event);
    const words = plainWordsOf(event.row, labs[SIDES.indexOf(event.side)].getState());
    const name = event.side === "left" ? "only the first" : "only the second";
    const button = element(document, "button.plain", { type: "button", onclick: () => choose(at) }, [element(document, "span.instant", { text: `${seconds(event.at_us)} s` }), element(document, "span.side", { text: name }), ` ${words}`]);
    return { node: element(document, `li.${event.side}`, {}, [button]), button, event };
  }

  function choose(at) {
    if (!lines[at]) return;
    lines[chosen]?.button.removeAttribute("aria-current");
    chosen = at;
    const { event, button } = lines[at];
    button.setAttribute("aria-current", "true");
    button.scrollIntoView({ block: "nearest" });
    clock.seek(event.at_us);
    showRow(labs[SIDES.indexOf(event.side)], event);
  }

  return {
    /** Goes to the first difference at an instant or after it; to the instant itself if there is none. @param {number} at_us */
    from(at_us) {
      const at = found.events.findIndex((event) => event.at_us >= at_us);
      if (at < 0) clock.seek(at_us);
      else choose(at);
    },
  };
}

/** Highlights the event as soon as the lab has run to its instant. */
function showRow(lab, event, left = 100) {
  if (lab.getState().at_us >= event.at_us) lab.showRow(event.row.seq);
  else if (left > 0) setTimeout(() => showRow(lab, event, left - 1), 100);
}

/** The table of two runs' figures for each failover or group; a figure that differs is marked. */

/** Figures that are marked when they are not 0. What is not replicated may still arrive, and a difference alone is no harm. */
const HARM = new Set(["duplicates", "lost"]);

/** @param {{document: Document, root: HTMLElement}} page @param {{cases: any[][], table: {columns: any[], noun: string}, left: {name: string}, right: {name: string}}} answer */
export function writeFigures({ document, root }, { cases, table, left, right }) {
  const home = required(root, "[data-part=figures]");
  const labels = [...new Set(cases.flat().map((one) => `${seconds(one.at_us)} s: ${one.label}`))];
  if (labels.length === 0) {
    home.replaceChildren(element(document, "p.quiet", { text: `Neither run has a ${table.noun}.` }));
    return;
  }
  const named = cases.map((side) => new Map(side.map((one) => [`${seconds(one.at_us)} s: ${one.label}`, one])));
  const rows = labels.flatMap((label) => [
    element(document, "tr", {}, [element(document, "th.case", { colspan: 3, scope: "rowgroup", text: label })]),
    ...table.columns.map((column) => rowOf(document, column, named.map((side) => side.get(label)))),
  ]);
  const head = element(document, "tr", {}, [element(document, "td", {}), headCell(document, "col", capitalised(left.name)), headCell(document, "col", capitalised(right.name))]);
  home.replaceChildren(element(document, "table", {}, [element(document, "thead", {}, [head]), element(document, "tbody", {}, rows)]));
}

/**
 * The first figure that differs: of the earliest failover or group, in the order of the table.
 * @param {{cases: any[][], table: {columns: any[], noun: string}}} answer
 * @returns {{at_us: number, label: string, title: string, values: string[]} | null}
 */
export function firstFigure({ cases, table }) {
  const known = cases.flat().sort((one, other) => one.at_us - other.at_us);
  for (const { at_us, label } of known) {
    const sides = cases.map((side) => side.find((one) => one.at_us === at_us && one.label === label));
    for (const { name, title, unit } of table.columns) {
      const values = sides.map((one) => figureOf(one?.figures ?? one, name));
      if (values[0] !== values[1]) return { at_us, label, title, values: values.map((value, at) => figureText(value, unit, sides[at]?.at_least?.includes(name))) };
    }
  }
  return null;
}

function rowOf(document, { name, title, unit }, sides) {
  const values = sides.map((one) => figureOf(one?.figures ?? one, name));
  const kind = values[0] === values[1] ? "" : ".differs";
  const cell = (value, at) => element(document, HARM.has(name) && value > 0 ? "td.harm-text" : "td", { text: figureText(value, unit, sides[at]?.at_least?.includes(name)) });
  return element(document, `tr${kind}`, {}, [headCell(document, "row", title), ...values.map(cell)]);
}

const figureOf = (one, name) => one?.[name] ?? null;

/** A figure in words; one that may still rise is a lower bound. */
export const figureText = (value, unit, at_least = false) => (value === null ? "–" : `${at_least ? "at least " : ""}${unit === "count" ? whole(value) : span(value)}`);

/**
 * The page of two runs on one clock: each is a lab of the visitor in a frame, made from its document; the server finds the differences.
 * This module connects the parts: frames, clock, differences, figures.
 */

/** Limits of a frame's height, px, and what it has beyond its content, so that the curve is not at its lowest. */
const [LOWEST_PX, HIGHEST_PX, CURVE_PX] = [300, 900, 40];

/** @param {{document: Document, root: HTMLElement, window: import("../render/dom.js").PageWindow, fetcher: typeof fetch}} parts */
export function openPair({ document, root, window, fetcher }) {
  const requests = makeRequests(fetcher, "");
  const status = required(root, "[data-part=status]");
  const pause = (ms) => new Promise((resolve) => window.setTimeout(resolve, ms));
  open().catch(failed);

  async function open() {
    const ask = await asking({ root, window, requests });
    const asked = await ask();
    for (const side of SIDES) setText(required(root, `[data-part=${side}-name]`), capitalised(asked[side].name));
    const [labs, answer] = await Promise.all([Promise.all(SIDES.map((side) => openLab(side, asked[side].run))), untilDone(ask, window, (words) => setText(status, words), asked)]);
    const clock = makePairClock({ document, root, window, labs, until_us: asked.until_us });
    writeFigures({ document, root }, answer);
    const differences = makeDifferences({ document, root, clock, labs }, answer.differences);
    const marked = SIDES.map((side, at) => labs[at].markOnly(answer.differences.entries[side]));
    required(root, "[data-part=only]").hidden = !marked.includes(true);
    setText(required(root, "[data-part=sentence]"), sentenceOf(answer));
    setText(status, "");
    differences.from(firstFigure(answer)?.at_us ?? 0);
  }

  /** Makes a lab of the visitor from a run, or takes the one that this tab made before, and opens it in its frame. */
  async function openLab(side, run) {
    const key = `failover-lab.pair.${window.location.pathname}${window.location.search}${window.location.hash}.${side}`;
    const made = read(window, key) ?? (await requests.post(root.dataset.create, { ...run, until_us: Math.max(0, ...run.commands.map((command) => command.at_us)) }));
    keepToken(made.id, made.token, window);
    keep(window, key, made);
    const frame = /** @type {HTMLIFrameElement} */ (required(root, `iframe[data-part=${side}]`));
    frame.src = `${made.url}?embed=1&panel=time`;
    /** @type {HTMLAnchorElement} */ (required(root, `a[data-part=${side}-lab]`)).href = `${made.url}`;
    for (;;) {
      const lab = /** @type {any} */ (frame.contentWindow)?.failoverLab;
      if (isDrawn(frame, lab)) {
        fit(frame);
        return lab;
      }
      await pause(LOOK_EVERY_MS);
    }
  }

  function failed(reason) {
    const failure = required(root, "[data-part=failure]");
    setText(status, "");
    setText(failure, [reason.message, reason.hint].filter(Boolean).join(" "));
    failure.hidden = false;
  }
}

/** The request for the two runs: of a lab, named in the address, or of two set-ups, whose texts its fragment contains. */
async function asking({ root, window, requests }) {
  if (root.dataset.address) return () => requests.get(root.dataset.address + window.location.search);
  const [left, right] = await Promise.all(SIDES.map((side) => textOf(window.location.hash, side)));
  if (left === null || right === null) throw new RequestError("The link does not contain two readable set-ups.", "Open My set-up, keep one there and compare it with another.");
  return () => requests.post(root.dataset.setUps, { left, right });
}

/** Shows the time panel, whose axis both frames share, if the lab has one. @returns {boolean} whether the frame's content is drawn */
function isDrawn({ contentDocument: inside }, lab) {
  const root = inside?.querySelector(".lab.drawn");
  if (!root || !lab?.getState().view) return false;
  const timed = required(root, "#panel-time").hidden === false;
  root.classList.toggle("with-panel", timed);
  return !timed || Boolean(lab.timeAxis());
}

/** Sets a frame's height by what is drawn in it. */
function fit(frame) {
  frame.style.height = `${Math.min(HIGHEST_PX, Math.max(LOWEST_PX, frame.contentDocument.documentElement.scrollHeight + CURVE_PX))}px`;
}

/** The page's first sentence. */
export function sentenceOf(answer) {
  const { differences, rows } = answer;
  if (!differences.first) return `Both runs are the same, in all ${counted(rows[0], "event")}.`;
  const same = `Both runs are the same until ${seconds(differences.first.at_us)} s.`;
  const figure = firstFigure(answer);
  return figure ? `${same} The first figure that differs, at ${seconds(figure.at_us)} s: ${figure.title}, ${figure.values.join(" and ")}.` : same;
}

function read(window, key) {
  try {
    return JSON.parse(window.sessionStorage.getItem(key));
  } catch {
    return null;
  }
}

function keep(window, key, made) {
  try {
    window.sessionStorage.setItem(key, JSON.stringify(made));
  } catch {
    // a private window may refuse storage; a reload then makes new labs
  }
}

const root = globalThis.document && found(document, "[data-pair]"); // Node\'s tests have no document
if (root) openPair({ document, root, window, fetcher: (address, options) => fetch(address, options) });
