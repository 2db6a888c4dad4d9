/**
 * The answer on the page: asks the question, shows progress, draws a row of dots per figure, opens any run as a lab.
 * An answer stays when the set-up changes and is then marked as belonging to an earlier set-up.
 */

import { foldAnswer, noAnswer, rule, sentenceOf } from "../model/answer.js";
import { putParts, required, setText } from "../render/dom.js";
import { askAbout } from "../wire/answers.js";
import { makeNumberTable, makeRuns } from "./answer_runs.js";

/**
 * @param {object} parts
 * @param {Document} parts.document
 * @param {HTMLElement} parts.root
 * @param {import("../render/dom.js").PageWindow} parts.window
 * @param {() => WebSocket} parts.makeSocket
 * @param {() => string} parts.getYaml the present set-up
 * @param {(run: {seed: number, set: [path: string, value: string][], at_us: number, yaml: string}) => void} parts.onOpen
 */
export function makeAnswer({ document, root, window, makeSocket, getYaml, onOpen }) {
  const [sentence, about, announced] = ["sentence", "about", "announced"].map((name) => required(root, `[data-part=${name}]`));
  let answer = noAnswer();
  let reading = { failure: null, problems: [] };
  let asked_yaml = null;
  let leave = null;
  const progress = makeProgress(root, ask, cancel);
  const open = (seed) => onOpen({ ...runOf(answer, seed), yaml: asked_yaml });
  const runs = makeRuns(document, root, { runs: () => answer.runs, onOpen: open });
  const numbers = makeNumberTable(document, root, open);
  new window.ResizeObserver(() => draw()).observe(runs.plots);

  function ask() {
    leave?.();
    answer = { ...noAnswer(), state: "running" };
    asked_yaml = getYaml();
    runs.forget();
    setText(announced, "The runs have started.");
    leave = askAbout({ makeSocket, yaml: asked_yaml, onMessage: take });
    draw();
  }

  function take(message) {
    answer = foldAnswer(answer, message);
    if (message.type === "done") setText(announced, plainSentence(answer, reading.failure));
    if (message.type === "error") setText(announced, `${message.error} ${message.hint ?? ""}`);
    draw();
  }

  function cancel() {
    leave?.();
    if (isBusy(answer)) {
      answer = { ...answer, state: "cancelled" };
      setText(announced, "Cancelled.");
      progress.focusAsk();
    }
    draw();
  }

  function draw() {
    const stale = answer.runs.length > 0 && asked_yaml !== getYaml();
    putParts(document, sentence, sentenceOf(answer, reading.failure));
    root.classList.toggle("stale", stale);
    progress.draw(answer, { stale, can_ask: reading.failure !== null, hindrance: reading.problems.length ? "Fix the marked fields." : "" });
    about.hidden = !answer.asked;
    if (answer.asked) setText(about, rule(answer.asked));
    runs.draw();
    numbers.draw(answer);
  }

  return {
    state: () => answer,
    cancel,
    /** The server has read the set-up again. */
    about(next) {
      reading = next;
      draw();
    },
  };
}

/** What is needed to open a run as a lab: its seed, its changes to the set-up, and the instant of its failover. */
function runOf({ asked, runs }, seed) {
  const { set } = asked.runs.find((run) => run.seed === seed);
  const { at_us } = runs.find((run) => run.seed === seed);
  return { seed, set, at_us };
}

const isBusy = ({ state }) => state === "running" || state === "waiting";

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
      const total = Number(root.dataset.runs);
      const busy = isBusy(answer);
      cancel_button.hidden = !busy;
      ask_button.disabled = busy || !can_ask;
      setText(ask_button, stale ? "Run again: the set-up has changed" : `Answer from ${total} seeds`);
      progress.hidden = !busy;
      progress.setAttribute("aria-valuenow", String(answer.runs.length));
      bar.style.width = `${(100 * answer.runs.length) / total}%`;
      setText(words, wordsOfProgress(answer, total) ?? hindrance);
      words.classList.toggle("harm-text", answer.state === "error");
    },
  };
}

/** @returns {string | null} null when nothing was asked, or everything has been received */
function wordsOfProgress(answer, total) {
  if (answer.state === "error") return `${answer.error.error} ${answer.error.hint}`;
  if (answer.state === "waiting") return `queued, ${answer.before} before this one`;
  if (answer.state === "running") return `${answer.runs.length} of ${total}`;
  if (answer.state === "cancelled") return `stopped after ${answer.runs.length} of ${total}`;
  return null;
}
