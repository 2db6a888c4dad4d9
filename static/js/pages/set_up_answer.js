/**
 * The answer on the page: asks the question, shows progress, draws a row of dots per figure, opens any run as a lab.
 * An answer stays when the set-up changes and is then marked as belonging to an earlier set-up.
 */

import { assumptionsOf, foldAnswer, isAnswered, noAnswer, progressWords, rule, sentenceOf, sizeWords, whatIfTitle, whatIfWords } from "../model/answer.js";
import { inOrder } from "../model/variants.js";
import { element, putParts, required, setText } from "../render/dom.js";
import { debounced } from "./debounced.js";
import { askAbout } from "../wire/answers.js";
import { headline, table } from "../render/what_if_table.js";
import { instantWords, makeNumberTable, makeRuns } from "./answer_runs.js";

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
      content.replaceChildren(...(ordered ? [...headline(document, what_if, ordered), table(document, what_if, ordered, null)] : []));
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
