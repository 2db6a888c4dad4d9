/**
 * The answer's part of the page: asks, counts along, draws a row of dots for each figure, opens any run as a lab. An answer
 * stays when the set-up changes, and says that it is about an earlier one.
 */

import { causesOf, differs, figuresOf, foldAnswer, noAnswer, rule, sentenceOf, valueWords } from "../model/answer.js";
import { seconds } from "../model/format.js";
import { causeWords } from "../model/cause_words.js";
import { dotPlot } from "../render/dot_plot.js";
import { element, putParts, required, setText } from "../render/dom.js";
import { askAbout } from "../wire/answers.js";

export function makeAnswer({ document, root, window, makeSocket, getYaml, onOpen }) {
  const part = (name) => required(root, `[data-part=${name}]`);
  const [sentence, about, plots, one, progress, progress_words, told, numbers] = ["sentence", "about", "plots", "one", "progress", "progress-words", "told", "numbers"].map(part);
  const ask_button = required(root, "[data-act=ask]");
  const cancel_button = required(root, "[data-act=cancel]");
  let answer = noAnswer();
  let failure = null;
  let hindrance = "";
  let asked_yaml = null;
  let looked_at = null;
  let leave = null;

  ask_button.hidden = false;
  ask_button.addEventListener("click", ask);
  cancel_button.addEventListener("click", cancel);
  new window.ResizeObserver(() => draw()).observe(plots);

  function ask() {
    leave?.();
    answer = { ...noAnswer(), state: "running" };
    asked_yaml = getYaml();
    looked_at = null;
    setText(told, "The runs have begun.");
    leave = askAbout({ makeSocket, yaml: asked_yaml, onMessage: heard });
    draw();
  }

  function heard(message) {
    answer = foldAnswer(answer, message);
    if (message.type === "done") setText(told, sentence_text());
    if (message.type === "error") setText(told, `${message.error} ${message.hint ?? ""}`);
    draw();
  }

  function cancel() {
    leave?.();
    if (["running", "waiting"].includes(answer.state)) {
      answer = { ...answer, state: "cancelled" };
      setText(told, "Cancelled.");
      ask_button.focus();
    }
    draw();
  }

  const busy = () => answer.state === "running" || answer.state === "waiting";
  const stale = () => answer.runs.length > 0 && asked_yaml !== getYaml();
  const plannedOf = (seed) => answer.asked.runs.find((run) => run.seed === seed);

  function sentence_text() {
    return sentenceOf(answer, failure).map((piece) => (typeof piece === "string" ? piece : (piece.strong ?? piece.harm ?? piece.soft))).join("");
  }

  function draw() {
    putParts(document, sentence, sentenceOf(answer, failure));
    root.classList.toggle("stale", stale());
    drawProgress();
    about.hidden = !answer.asked;
    if (answer.asked) setText(about, rule(answer.asked));
    drawPlots();
    drawOne();
    drawNumbers();
  }

  function drawProgress() {
    const total = Number(root.dataset.runs);
    cancel_button.hidden = !busy();
    ask_button.disabled = busy() || failure === null;
    setText(ask_button, stale() ? "Ask again: the set-up has changed" : `Answer from ${total} seeds`);
    progress.hidden = !busy();
    progress.setAttribute("aria-valuenow", String(answer.runs.length));
    progress.firstElementChild.style.width = `${(100 * answer.runs.length) / total}%`;
    setText(progress_words, wordsOfProgress(total));
    progress_words.classList.toggle("harm-text", answer.state === "error");
  }

  function wordsOfProgress(total) {
    if (answer.state === "error") return `${answer.error.error} ${answer.error.hint}`;
    if (answer.state === "waiting") return `${answer.before} before this one`;
    if (answer.state === "running") return `${answer.runs.length} of ${total}`;
    if (answer.state === "cancelled") return `stopped after ${answer.runs.length} of ${total}`;
    return hindrance;
  }

  /** Drawn anew, with the focus put back where it was: a dot that is looked at does not go away under the hand. */
  function drawPlots() {
    const held = document.activeElement?.closest?.(".plot");
    const [held_name, held_seed] = [held?.dataset.figure, document.activeElement?.dataset?.seed];
    const width = plots.clientWidth;
    if (!width) return;
    const rows = answer.runs.length ? figuresOf(answer.runs) : [];
    plots.replaceChildren(
      ...rows.map((figure) => {
        if (rows[0] !== figure && !differs(answer.runs, figure.name)) return sameInAll(figure);
        const plot = dotPlot(document, figure, answer.runs, { width, chosen: looked_at, onLook: look, onOpen: open, wordsOf: wordsOfRun });
        plot.dataset.figure = figure.name;
        return plot;
      }),
    );
    markLooked();
    if (held_seed) plots.querySelector(`.plot[data-figure="${held_name}"] .dot[data-seed="${held_seed}"]`)?.focus();
  }

  const sameInAll = (figure) => element(document, "p.same-in-all", {}, [element(document, "b", { text: figure.says }), ` ${valueWords(figure, answer.runs[0][figure.name])} in every run`]);

  function look(seed) {
    looked_at = seed;
    markLooked();
    drawOne();
  }

  function markLooked() {
    for (const dot of plots.querySelectorAll(".dot")) dot.classList.toggle("looked-at", Number(dot.dataset.seed) === looked_at);
  }

  function wordsOfRun(run) {
    const figures = figuresOf(answer.runs).map((figure) => `${figure.says} ${valueWords(figure, run[figure.name])}`);
    return `Seed ${run.seed}, moved at ${seconds(run.at_us)} s: ${figures.join(", ")}.`;
  }

  function drawOne() {
    const run = answer.runs.find((other) => other.seed === looked_at);
    const causes = causesOf(answer.runs).filter(({ share }) => share >= 0.01).slice(0, 3).map(({ cause, share }) => `${Math.round(100 * share)} % ${causeWords(cause)}`);
    if (run) setText(one, `${wordsOfRun(run)} A click opens it as a lab, at its failover.`);
    else setText(one, causes.length ? `Why twice: ${causes.join(", ")}. Each dot is one run; a click opens it as a lab.` : "");
  }

  function drawNumbers() {
    numbers.hidden = answer.runs.length === 0;
    if (numbers.hidden) return;
    const figures = figuresOf(answer.runs);
    const head = ["seed", "moved at", ...figures.map((figure) => figure.says), ""];
    const rows = answer.runs.map((run) => element(document, "tr", {}, [
      element(document, "th", { scope: "row", text: String(run.seed) }),
      element(document, "td", { text: `${seconds(run.at_us)} s` }),
      ...figures.map((figure) => element(document, "td", { text: valueWords(figure, run[figure.name]) })),
      element(document, "td", {}, [element(document, "button", { type: "button", text: "Open", "aria-label": `Open seed ${run.seed} as a lab`, onclick: () => open(run.seed) })]),
    ]));
    required(numbers, "table").replaceChildren(element(document, "thead", {}, [element(document, "tr", {}, head.map((text) => element(document, "th", { scope: "col", text })))]), element(document, "tbody", {}, rows));
    setText(part("command-line"), `The same without the page, for seed 2: ${commandLine(answer.asked.runs[1])}`);
  }

  function open(seed) {
    const run = answer.runs.find((other) => other.seed === seed);
    onOpen({ seed, set: plannedOf(seed).set, at_us: run.at_us, yaml: asked_yaml });
  }

  return {
    state: () => answer,
    cancel,
    /** The set-up has been read anew. */
    about(reading) {
      failure = reading.failure;
      hindrance = reading.problems.length ? "Mend what is marked first." : "";
      draw();
    },
  };
}

const commandLine = ({ seed, set }) => `manage.py simulate my-set-up.yaml --seed ${seed} ${set.map(([path, value]) => `--set '${path}=${value}'`).join(" ")}`;
