/** The runs of an answer: a row of dots for each figure, the chosen run in words, and a table of all numbers. */

import { causesOf, differs, figuresOf, valueWords } from "../model/answer.js";
import { causeWords } from "../model/cause_words.js";
import { seconds } from "../model/format.js";
import { dotPlot } from "../render/dot_plot.js";
import { allOf, element, found, required, setText } from "../render/dom.js";
import { columnHeads } from "../render/terms.js";

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
