/** The runs of an answer: a row of dots for each figure, the chosen run in words, and a table of all numbers. */

import { NOT_BY_THE_END, assumptionsOf, causesOf, checksWords, differs, figuresOf, foldAnswer, isAnswered, noAnswer, progressWords, recountProgress, recountWords, rule, sentenceOf, shortSpan, sizeWords, spreadOf, valueWords, whatIfTitle, whatIfWords } from "../model/answer.js";
import { causeWords } from "../protocols/light_table.js";
import { halves, seconds } from "../model/format.js";
import { bestInShort, headline, inOrder, table } from "../render/what_if_table.js";
import { debounced } from "../wire/http.js";
import { allOf, element, found, putParts, required, setText } from "../render/dom.js";
import { columnHeads, termLink } from "../render/terms.js";

/** Places the dots of a dot plot: along the axis by value, stacked where they would overlap. */

/**
 * @param {(number | null)[]} values null is placed at the far end, beyond the axis
 * @param {{width: number, dot: number, highest: number}} given px
 * @returns {{low: number, high: number, height: number, dots: ({along: number, up: number} | null)[]}} px from the left and from below;
 *   a stack that would be higher than `highest` is compressed
 */
export function dotPlaces(values, { width, dot, highest }) {
  const known = values.filter((value) => value !== null);
  const low = Math.min(0, ...known);
  const high = Math.max(...known);
  const room = Math.max(1, width - dot);
  const columns = new Map();
  const order = values.map((value, place) => ({ value, place })).filter((one) => one.value !== null).sort((one, other) => one.value - other.value || one.place - other.place);
  const dots = values.map(() => null);
  for (const { value, place } of order) {
    const exact = high === low ? room / 2 : ((value - low) / (high - low)) * room;
    const column = Math.round(exact / dot);
    const pile = columns.get(column) ?? [];
    columns.set(column, [...pile, place]);
    dots[place] = { along: Math.min(room, column * dot), up: 0 };
  }
  for (const pile of columns.values()) {
    const step = Math.min(dot, (highest - dot) / Math.max(1, pile.length - 1));
    pile.forEach((place, level) => (dots[place].up = level * step));
  }
  return { low, high, height: dot + Math.max(0, ...dots.map((one) => one?.up ?? 0)), dots };
}

/**
 * Draws the row of dots of one figure: a button for each run at its value, and a line at the median.
 * The row is one tab stop; the arrow keys move in the order of the values.
 */

/** px between the centres of neighbouring dots */
const DOT_PX = 12;
/** Higher stacks are compressed. */
const HIGHEST_PX = 66;

/**
 * @param {Document} document
 * @param {object} figure of `FIGURES`
 * @param {object[]} runs
 * @param {{width: number, chosen: number | null, onLook: (seed: number | null) => void, onOpen: (seed: number) => void, wordsOf: (run: object) => string}} given
 */
export function dotPlot(document, figure, runs, { width, chosen, onLook, onOpen, wordsOf }) {
  const values = runs.map((run) => run[figure.name] ?? null);
  const { low, high, height, dots } = dotPlaces(values, { width, dot: DOT_PX, highest: HIGHEST_PX });
  const field = element(document, "div.field");
  field.style.height = `${height + 6}px`;
  const order = runs.map((run, place) => ({ run, place })).filter(({ place }) => dots[place]).sort((one, other) => dots[one.place].along - dots[other.place].along || dots[one.place].up - dots[other.place].up);
  const stop = order.find(({ run }) => run.seed === chosen) ?? order[0];
  for (const { run, place } of order) {
    const button = element(document, figure.harm ? "button.dot.harm" : "button.dot", {
      type: "button",
      tabindex: run === stop.run ? 0 : -1,
      "data-seed": run.seed,
      "aria-label": `${wordsOf(run)} Opens as a lab.`,
      onclick: () => onOpen(run.seed),
      onfocus: () => onLook(run.seed),
      onpointerenter: () => onLook(run.seed),
    });
    button.style.left = `${dots[place].along}px`;
    button.style.bottom = `${dots[place].up + 3}px`;
    field.append(button);
  }
  field.addEventListener("keydown", (event) => walk(event, field));
  const spread = spreadOf(runs, figure.name);
  if (spread && high > low) {
    const line = element(document, "i.median");
    line.style.left = `${middleOf({ ...spread, low, high }, width)}px`;
    field.append(line);
  }
  const axis = axisOf(document, figure, spread && { ...spread, low, high }, width);
  return element(document, "div.plot", { role: "group", "aria-label": `${figure.says}, ${runs.length} runs` }, [element(document, "h3", {}, [termLink(document, figure.says)]), field, axis]);
}

/** Position of the median, px from the left. */
const middleOf = ({ low, high, median }, width) => ((median - low) / (high - low)) * (width - DOT_PX) + DOT_PX / 2;

/** Width of a character of a label, at most, and the gap between two labels, px. */
const CHARACTER_PX = 8;
const GAP_PX = 10;

function axisOf(document, figure, spread, width) {
  if (!spread) return element(document, "p.axis.same", {}, [element(document, "span", { text: NOT_BY_THE_END })]);
  const { low, high, median } = spread;
  const low_words = element(document, "span", { text: valueWords(figure, low) });
  if (low === high) return element(document, "p.axis.same", {}, [low_words]);
  const words = element(document, "b", { text: `median ${medianWords(figure, median)}` });
  const high_words = element(document, "span", { text: valueWords(figure, high) });
  const character_px = CHARACTER_PX * (Number.parseFloat(document.defaultView.getComputedStyle(document.documentElement).getPropertyValue("--scale")) || 1);
  const apart = (end) => character_px * (words.textContent.length / 2 + end.textContent.length) + GAP_PX;
  words.style.left = `${Math.min(Math.max(middleOf(spread, width), apart(low_words)), width - apart(high_words))}px`;
  return element(document, "p.axis", {}, [low_words, words, high_words]);
}

const medianWords = (figure, median) => (figure.name.endsWith("_us") ? shortSpan(median) : halves(median));

const STEPS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };

function walk(event, field) {
  const dots = [...field.querySelectorAll(".dot")];
  const at = dots.indexOf(event.target);
  const next = event.key === "Home" ? dots[0] : event.key === "End" ? dots.at(-1) : STEPS[event.key] ? dots[at + STEPS[event.key]] : null;
  if (event.key in STEPS || event.key === "Home" || event.key === "End") event.preventDefault();
  next?.focus();
}

/**
 * One question: asks for its runs, reads how far they are until they are over, and cancels them.
 * The runs are an experiment of the worker; a lost request is repeated, so that a short interruption loses nothing.
 */

/** Time between two questions about the state, ms: the worker writes it four times a second, and each first result at once. */
const ASK_EVERY_MS = 300;
const ASK_EVERY_UNTIL_FIRST_MS = 100;
/** Failed requests in a row after which the connection counts as lost. */
const FAILURES_MOST = 20;

/**
 * @param {object} parts
 * @param {ReturnType<import("../wire/http.js").makeRequests>} parts.requests
 * @param {import("../render/dom.js").PageWindow} parts.window
 * @param {string} parts.address that begins the runs
 * @param {{yaml: string} | {query: string}} parts.question
 * @param {(message: object) => void} parts.onMessage
 * @returns {() => void} cancels the question
 */
export function askAbout({ requests, window, address, question, onMessage }) {
  let open = true;
  let made = null;
  let failures = 0;
  let have = "";
  begin();

  async function begin() {
    try {
      made = await requests.post(address, question);
    } catch (reason) {
      end({ type: "error", error: reason.message, hint: reason.hint ?? "" });
      return;
    }
    if (!open) cancel();
    else {
      onMessage({ type: "asked", ...made.asked, id: made.id, url: made.url, size: made.size });
      read();
    }
  }

  async function read() {
    if (!open) return;
    try {
      const status = await requests.get(`${made.url}status.json?have=${have}`);
      failures = 0;
      have = status.have ?? have;
      if (open) take(status);
    } catch (reason) {
      failures += 1;
      if (failures > FAILURES_MOST) end({ type: "error", error: reason.message, hint: "The answers received so far stay. Request it again when the page is connected." });
    }
    if (open) window.setTimeout(read, Number(have) > 0 ? ASK_EVERY_MS : ASK_EVERY_UNTIL_FIRST_MS);
  }

  function take(status) {
    onMessage({ type: "status", ...status });
    if (!status.over) return;
    if (status.state === "done") end({ type: "done" });
    else end({ type: "error", error: status.words, hint: status.hint });
  }

  function end(message) {
    if (!open) return;
    open = false;
    onMessage(message);
  }

  /** Asks the worker to stop; the page may be closing, so nobody waits for the answer. */
  function cancel() {
    if (made?.token) window.navigator.sendBeacon(`${made.url}cancel/`, new window.Blob([JSON.stringify({ token: made.token })], { type: "application/json" }));
  }

  return () => {
    if (!open) return;
    open = false;
    cancel();
  };
}

/** Limits of the causes that are listed: the least share of the duplicates, and the largest number of causes. */
const LEAST_SHARE = 0.01;
const MOST_CAUSES = 3;

/**
 * @param {Document} document
 * @param {HTMLElement} root
 * @param {{runs: () => object[], verb: () => string, onOpen: (seed: number) => void}} given verb: what happens at a run's instant
 */
export function makeRuns(document, root, { runs, verb, onOpen }) {
  const plots = required(root, "[data-part=plots]");
  const one = required(root, "[data-part=one]");
  let looked_at = null;

  /** Redraws the plots and restores the focus, so that the focused dot stays focused. */
  function drawPlots() {
    const active = /** @type {HTMLElement | null} */ (document.activeElement);
    const held = /** @type {HTMLElement | null} */ (active?.closest?.(".plot") ?? null);
    const [held_name, held_seed] = [held?.dataset.figure, active?.dataset?.seed];
    const width = plots.clientWidth;
    if (!width) return;
    const figures = runs().length ? figuresOf(runs()) : [];
    plots.replaceChildren(...figures.map((figure, place) => (place > 0 && !differs(runs(), figure.name) ? sameInAll(figure) : plotOf(figure, width))));
    markLooked();
    if (held_seed) found(plots, `.plot[data-figure="${held_name}"] .dot[data-seed="${held_seed}"]`)?.focus();
  }

  function plotOf(figure, width) {
    const plot = dotPlot(document, figure, runs(), { width, chosen: looked_at, onLook: look, onOpen, wordsOf: (run) => wordsOfRun(runs(), run, verb()) });
    plot.dataset.figure = figure.name;
    return plot;
  }

  const sameInAll = (figure) => element(document, "p.same-in-all", {}, [element(document, "b", { text: figure.says }), ` ${valueWords(figure, runs()[0][figure.name])} in every run`]);

  function look(seed) {
    looked_at = seed;
    markLooked();
    drawOne();
  }

  function markLooked() {
    for (const dot of allOf(plots, ".dot")) dot.classList.toggle("looked-at", Number(dot.dataset.seed) === looked_at);
  }

  function drawOne() {
    const run = runs().find((other) => other.seed === looked_at);
    const all = causesOf(runs());
    const named = all.filter(({ share }) => share >= LEAST_SHARE).slice(0, MOST_CAUSES);
    const causes = named.map(({ cause, percent }) => `${percent} % ${causeWords(cause)}`);
    const others = all.slice(named.length).reduce((sum, { percent }) => sum + percent, 0);
    if (others) causes.push(`${others} % other causes`);
    if (run) setText(one, `${wordsOfRun(runs(), run, verb())} A click opens it as a lab, at this instant.`);
    else setText(one, causes.length ? `Causes of the duplicates: ${causes.join(", ")}. Each dot is one run; a click opens it as a lab.` : "");
  }

  return {
    plots,
    draw() {
      drawPlots();
      drawOne();
    },
    /** Clears the choice of a run. */
    forget() {
      looked_at = null;
    },
  };
}

/** @returns {string} what happens at the instant of a run: its consumers move, or the first fault comes */
export const instantWords = (asked) => (asked?.to ? "moved at" : asked?.fault ? "fault at" : "opens at");

/** @returns {string} a run as a sentence: its seed, its instant and its figures */
function wordsOfRun(runs, run, verb) {
  const figures = figuresOf(runs).map((figure) => `${figure.says} ${valueWords(figure, run[figure.name])}`);
  return `Seed ${run.seed}, ${verb} ${seconds(run.at_us)} s: ${figures.join(", ")}.`;
}

/**
 * The table of all runs, with the command line of one of them.
 * @param {Document} document
 * @param {HTMLElement} root
 * @param {(seed: number) => void} onOpen
 */
export function makeNumberTable(document, root, onOpen) {
  const numbers = required(root, "[data-part=numbers]");
  const command_line = required(root, "[data-part=command-line]");

  function rowOf(run, figures) {
    return element(document, "tr", {}, [
      element(document, "th", { scope: "row", text: String(run.seed) }),
      element(document, "td", { text: `${seconds(run.at_us)} s` }),
      ...figures.map((figure) => element(document, "td", { text: valueWords(figure, run[figure.name]) })),
      element(document, "td", {}, [element(document, "button", { type: "button", text: "Open", "aria-label": `Open seed ${run.seed} as a lab`, onclick: () => onOpen(run.seed) })]),
    ]);
  }

  return {
    /** @param {import("../model/answer.js").Answer} answer */
    draw({ runs, asked }) {
      numbers.hidden = runs.length === 0;
      if (numbers.hidden) return;
      const figures = figuresOf(runs);
      const head = ["seed", instantWords(asked), ...figures.map((figure) => figure.says), "as a lab"];
      required(numbers, "table").replaceChildren(
        element(document, "thead", {}, [element(document, "tr", {}, columnHeads(document, head))]),
        element(document, "tbody", {}, inSeedOrder(runs).map((run) => rowOf(run, figures))),
      );
      setText(command_line, `On the command line, for seed 2: ${commandLine(asked.runs[1])}${asked.size.factor > 1 ? ` (with the YAML of the run opened as a lab, at 1/${asked.size.factor} of the rate)` : ""}`);
    },
  };
}

const inSeedOrder = (runs) => [...runs].sort((one, other) => one.seed - other.seed);

const commandLine = ({ seed, set }) => `manage.py simulate my-set-up.yaml --seed ${seed} ${set.map(([path, value]) => `--set '${path}=${value}'`).join(" ")}`;

/**
 * The attachment for a change request: the answer on one printed page, then every run, Spark's recount and the scenario.
 * It is this page with a layout for paper, so that both always say the same; the browser prints it or saves it as PDF.
 * The button also asks for the recount, which takes a minute or more: the attachment is printed at once, and has the tables of Spark when it is made again.
 */

/** The class while it is printed: the plots then have the width of paper. */
const CLASS = "printing";
/** Settings on the first page; the appendix has all. */
const BEST_SHOWN = 3;
/** Time between two questions about the recount, ms. */
const RECOUNT_EVERY_MS = 1000;

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
    if (found.status && !found.status.over) window.setTimeout(() => follow(url), RECOUNT_EVERY_MS);
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

/**
 * The answer on the page: asks the question, shows progress, draws a row of dots per figure, opens any run as a lab.
 * An answer stays when the set-up changes and is then marked as belonging to an earlier set-up.
 */

/** Pause after the last change before the size of the answer is asked for, ms. */
const SIZE_PAUSE_MS = 600;

/**
 * @param {object} parts
 * @param {Document} parts.document
 * @param {HTMLElement} parts.root
 * @param {import("../render/dom.js").PageWindow} parts.window
 * @param {ReturnType<import("../wire/http.js").makeRequests>} parts.requests
 * @param {() => string} parts.getYaml the present set-up
 * @param {() => {yaml: string} | {query: string}} parts.getQuestion the present set-up as the server reads it
 * @param {(run: {seed: number, set: [path: string, value: string][], at_us: number, yaml: string}) => void} parts.onOpen
 */
export function makeAnswer({ document, root, window, requests, getYaml, getQuestion, onOpen }) {
  const [sentence, about, announced] = ["sentence", "about", "announced"].map((name) => required(root, `[data-part=${name}]`));
  let answer = noAnswer();
  let reading = { failure: null, problems: [] };
  let [asked_yaml, leave] = [null, null];
  const [size, below] = [makeSize({ window, requests, address: root.dataset.size, getQuestion, onChange: () => draw() }), makeBelow(document, root)];
  const progress = makeProgress(root, ask, cancel);
  const open = (seed) => onOpen({ ...runOf(answer, seed), yaml: answer.asked.yaml ?? asked_yaml });
  const runs = makeRuns(document, root, { runs: () => answer.runs, verb: () => instantWords(answer.asked), onOpen: open });
  const numbers = makeNumberTable(document, root, open);
  new window.ResizeObserver(() => draw()).observe(runs.plots);

  function ask() {
    leave?.();
    [answer, asked_yaml] = [{ ...noAnswer(), state: "running" }, getYaml()];
    runs.forget();
    setText(announced, "The runs have started.");
    leave = askAbout({ requests, window, address: root.dataset.answer, question: getQuestion(), onMessage: take });
    draw();
  }

  function take(message) {
    const before = answer;
    announce(announced, before, (answer = foldAnswer(answer, message)), reading.failure);
    draw();
  }

  function cancel() {
    leave?.();
    if (!isBusy(answer)) return;
    answer = { ...answer, state: "cancelled" };
    setText(announced, "Cancelled.");
    progress.focusAsk();
    draw();
  }

  function draw() {
    const stale = answer.runs.length > 0 && asked_yaml !== getYaml();
    putParts(document, sentence, sentenceOf(answer, reading.failure));
    root.classList.toggle("stale", stale);
    progress.draw(answer, { stale, can_ask: reading.failure !== null, hindrance: reading.problems.length ? "Fix the marked fields." : size.words() });
    below.draw(answer);
    setText(about, answer.asked ? rule(answer) : "");
    runs.draw();
    numbers.draw(answer);
  }

  return {
    ...{ ask, cancel, draw },
    state: () => answer,
    url: () => answer.asked?.url ?? "",
    /** The server has read the set-up again. */
    about(next) {
      reading = next;
      below.about(next);
      size.ask(reading.failure !== null);
      draw();
    },
  };
}

/** The size of the answer that would be asked for: rows and seconds, asked from the server a moment after a change. */
function makeSize({ window, requests, address, getQuestion, onChange }) {
  let words = "";
  const take = (found) => {
    words = found?.size ? sizeWords(found.size) : (found?.error ?? "");
    onChange();
  };
  const read = debounced(window, SIZE_PAUSE_MS, () => requests.post(address, getQuestion()), take, () => take(null));
  return {
    words: () => words,
    /** @param {boolean} possible whether there is a failover to ask about */
    ask(possible) {
      words = "";
      if (possible) read();
    },
  };
}

/** What is assumed, against what the simulator was compared, and what would have helped, once the answer is there. */
function makeBelow(document, root) {
  const below = required(root, "[data-part=below]");
  const list = required(root, "[data-part=assumptions]");
  const [validity, fidelity] = ["validity", "fidelity"].map((name) => required(root, `[data-part=${name}]`));
  const what_if = makeWhatIf(document, root);
  return {
    about(reading) {
      setText(validity, reading.validity ?? "");
      fidelity.hidden = !reading.compared;
    },
    draw(answer) {
      what_if.draw(answer);
      below.hidden = !isAnswered(answer);
      const texts = below.hidden ? [] : assumptionsOf(answer);
      if (texts.join("\n") === [...list.children].map((one) => one.textContent).join("\n")) return;
      list.replaceChildren(...texts.map((text) => element(document, "li", { text })));
    },
  };
}

/** What would have helped in one of the runs, as far as it is computed. */
function makeWhatIf(document, root) {
  const [section, title, content, words] = ["what-if", "what-if-title", "what-if-table", "what-if-words"].map((name) => required(root, `[data-part=${name}]`));
  let drawn = null;
  return {
    draw({ what_if, asked }) {
      section.hidden = !what_if?.variants.length && !what_if?.failed.length;
      if (section.hidden || what_if === drawn) return;
      drawn = what_if;
      setText(title, whatIfTitle(what_if));
      setText(words, whatIfWords(what_if, asked.size.factor, asked.fault));
      const ordered = what_if.order.length ? inOrder(what_if, 0) : null;
      content.replaceChildren(...(ordered ? [...headline(document, what_if, ordered, what_if.done), table(document, what_if, ordered, null)] : []));
    },
  };
}

/** What is needed to open a run as a lab: its seed, its changes to the set-up, and the instant of its failover. */
function runOf({ asked, runs }, seed) {
  const { set } = asked.runs.find((run) => run.seed === seed);
  const { at_us } = runs.find((run) => run.seed === seed);
  return { seed, set, at_us };
}

/** What a screen reader announces: the answer when it is complete, or the error. */
function announce(announced, before, answer, failure) {
  if (answer.state === "error") setText(announced, `${answer.error.error} ${answer.error.hint}`);
  else if (isAnswered(answer) && !isAnswered(before)) setText(announced, plainSentence(answer, failure));
}

const isBusy = ({ state }) => state === "running";

const plainSentence = (answer, failure) => sentenceOf(answer, failure).map((part) => (typeof part === "string" ? part : (part.strong ?? part.harm ?? part.soft))).join("");

/** The two buttons and the progress of the runs. */
function makeProgress(root, onAsk, onCancel) {
  const ask_button = required(root, "button[data-act=ask]");
  const cancel_button = required(root, "button[data-act=cancel]");
  const progress = required(root, "[data-part=progress]");
  const bar = required(root, "[data-part=progress] i");
  const words = required(root, "[data-part=progress-words]");
  ask_button.hidden = false;
  ask_button.addEventListener("click", onAsk);
  cancel_button.addEventListener("click", onCancel);

  return {
    focusAsk: () => ask_button.focus(),
    /**
     * @param {import("../model/answer.js").Answer} answer
     * @param {{stale: boolean, can_ask: boolean, hindrance: string}} given stale: the set-up has changed since; hindrance: why no question can be asked
     */
    draw(answer, { stale, can_ask, hindrance }) {
      const total = answer.asked?.size.runs ?? Number(root.dataset.runs);
      const busy = isBusy(answer);
      cancel_button.hidden = !busy;
      ask_button.disabled = busy || !can_ask;
      setText(ask_button, stale ? "Run again: the set-up has changed" : `Answer from ${total} runs`);
      progress.hidden = !busy;
      progress.setAttribute("aria-valuenow", String(answer.runs.length));
      bar.style.width = `${(100 * answer.runs.length) / total}%`;
      setText(words, progressWords(answer, total) ?? hindrance);
      words.classList.toggle("harm-text", answer.state === "error");
    },
  };
}
