/**
 * The panel “pulsar-admin”: what pulsar-admin and a broker's metrics would print at the instant shown, with notes.
 * The viewer chooses the cluster. The printout is requested when the instant changes, during playback at most a few times per second.
 */

import { counted, seconds } from "../../../model/format.js";
import { element, setText } from "../../../render/dom.js";

/**
 * The printout of an operator's tool as lines, with differences to other clusters and notes of the lab.
 * Runs of lines without differences or notes can be folded.
 */

/** Shortest run that is folded; folding shorter ones would save no space. */
const FOLDED_AT_LEAST = 3;

/**
 * @typedef {{number: number, text: string, note: string, elsewhere: [string, string][]}} PrintedLine lines count from 0; elsewhere: the line in other clusters
 * @typedef {{number: number, folded: number}} Fold a run of lines, from the first one's number
 */

/**
 * @param {{text: string, notes: [number, string][], differs: [number, Object<string, string>][]}} answer of the server
 * @returns {PrintedLine[]}
 */
export function linesOf(answer) {
  const notes = new Map(answer.notes);
  const differs = new Map(answer.differs);
  const texts = answer.text.split("\n");
  if (texts.at(-1) === "") texts.pop(); // the text ends in a line break
  return texts.map((text, number) => ({ number, text, note: notes.get(number) ?? "", elsewhere: Object.entries(differs.get(number) ?? {}) }));
}

/** The views by name: which lines are not folded. */
export const VIEWS = {
  noted: (line) => line.note !== "",
  different: (line) => line.note !== "" || line.elsewhere.length > 0,
  every: () => true,
};

/**
 * @param {PrintedLine[]} lines
 * @param {(line: PrintedLine) => boolean} isKept whether a line is not folded
 * @returns {(PrintedLine | Fold)[]} the lines with runs of others folded; opening brackets stay, because they show the nesting
 */
export function folded(lines, isKept) {
  const shown = [];
  let run = [];
  const end = () => {
    if (run.length >= FOLDED_AT_LEAST) shown.push({ number: run[0].number, folded: run.length });
    else shown.push(...run);
    run = [];
  };
  for (const line of lines) {
    if (isKept(line) || line.text.endsWith("{")) {
      end();
      shown.push(line);
    } else run.push(line);
  }
  end();
  return shown;
}

/**
 * Writes printed lines with notes in the margin.
 * A line keeps its element while its content is the same, so that nothing flickers and a selection is kept when the instant changes.
 */

/** A line with more pieces (thousands of ranges) is a single text without break opportunities. */
const PIECES_MAX = 200;

/** @param {HTMLElement} home an empty list */
export function makePrintout(document, home) {
  let drawn = [];

  function lineNode(line) {
    if (line.folded) return element(document, "li.fold", {}, [element(document, "span", { text: `⋯ ${counted(line.folded, "more line")}` })]);
    const node = element(document, line.elsewhere.length > 0 ? "li.differs" : "li", {}, [codeNode(line.text)]);
    if (line.note || line.elsewhere.length > 0) node.append(marginNode(line));
    return node;
  }

  /** A long line breaks after a comma or an opening brace, not inside a name. */
  function codeNode(text) {
    const pieces = text.split(/(?<=[,{])(?=\S)/);
    // thousands of ranges scroll in their line, which must therefore be focusable
    if (pieces.length > PIECES_MAX) return element(document, "code", { text, tabindex: "0" });
    if (pieces.length === 1) return element(document, "code", { text: text || " " });
    return element(document, "code", {}, pieces.flatMap((piece) => [element(document, "span", { text: piece }), element(document, "wbr")]));
  }

  function marginNode({ note, elsewhere }) {
    const margin = element(document, "span.margin");
    if (note) margin.append(element(document, "span.note", { text: note }));
    if (elsewhere.length > 0) {
      const values = elsewhere.flatMap(([cluster, value], place) => [place > 0 ? ", " : "", element(document, "span", { text: `${cluster} ${shortened(value)}` })]);
      margin.append(element(document, "span.elsewhere", {}, [element(document, "span", { "aria-hidden": "true", text: "≠ " }), element(document, "span.sr", { text: "otherwise in " }), ...values]));
    }
    return margin;
  }

  return {
    /** @param {(PrintedLine | Fold)[]} lines */
    show(lines) {
      const keys = lines.map((line) => JSON.stringify(line));
      keys.forEach((key, place) => {
        if (drawn[place] === key) return;
        const node = lineNode(lines[place]);
        if (place < home.children.length) home.children[place].replaceWith(node);
        else home.append(node);
      });
      while (home.children.length > keys.length) home.lastChild.remove();
      drawn = keys;
    },
  };
}

/** A value of another cluster, shortened for the margin: three decimals, forty characters. */
function shortened(value) {
  if (/^-?\d+\.\d{4,}$/.test(value)) return String(Number(Number(value).toFixed(3)));
  return value.length > 40 ? `${value.slice(0, 39)}…` : value;
}

/** Shortest time between two requests during playback, ms; and pause per ms that the last answer took, so that a large lab with many viewers keeps playing. */
const ASK_EVERY_MS = 400;
const REST_FACTOR = 4;

const TOOLS = [
  { name: "stats", shown: "topics stats" },
  { name: "stats-internal", shown: "topics stats-internal" },
  { name: "metrics", shown: "metrics" },
];

/** Names of `VIEWS` and their labels. */
const SHOWN = [
  ["noted", "notes"],
  ["different", "differences"],
  ["every", "every line"],
];

export const ADMIN_PANEL = { name: "pulsar-admin", title: "pulsar-admin", needs: "topics", simulated: true, make };

/** @param {HTMLElement} section @param {import("../../../pages/panels.js").PanelParts} parts */
function make(section, { document, window, requests, base, getState, say, wake }) {
  let selection = { tool: "stats", cluster: null, view: "noted" };
  let asked = { key: "", again_ms: -Infinity, waits: false };
  let answer = null;
  const now = () => window.performance.now();

  const page = makeView(document, section, change, copy);

  function change(more) {
    selection = { ...selection, ...more };
    page.draw(selection, answer);
    wake();
  }

  async function ask(key, path) {
    const began_ms = now();
    asked = { key, again_ms: Infinity, waits: true };
    try {
      const got = await requests.get(path);
      if (asked.key === key) answer = got;
    } catch (reason) {
      answer = { trouble: `${reason.message} ${reason.hint ?? ""}`.trim() };
    }
    asked = { key, again_ms: Math.max(began_ms + ASK_EVERY_MS, now() + REST_FACTOR * (now() - began_ms)), waits: false };
    page.draw(selection, answer);
    wake();
  }

  async function copy() {
    if (!answer?.text) return;
    try {
      await window.navigator.clipboard.writeText(answer.text);
      say({ error: "Copied.", hint: `${answer.command}, ${answer.cluster}, at ${seconds(answer.at_us)} s.`, tone: "plain" });
    } catch {
      selectAll();
    }
  }

  /** Without a clipboard (a page that is not served over TLS) the text is selected for copying by keyboard. */
  function selectAll() {
    change({ view: "every" });
    window.getSelection().selectAllChildren(page.list);
    say({ error: "This browser does not let the page copy.", hint: "All lines are selected: copy them with Ctrl+C.", tone: "plain" });
  }

  page.draw(selection, answer);
  return {
    copy,
    update(state, watched) {
      page.offerClusters(watched.lanes);
      if (!watched.clusters.includes(selection.cluster)) selection = { ...selection, cluster: watched.subject };
      page.pressCluster(selection.cluster);
      const key = [state.view.branch, state.at_us, state.view.seq, selection.tool, selection.cluster, watched.topic].join("|");
      if (key === asked.key || asked.waits) return;
      if (getState().playing && now() < asked.again_ms) return;
      ask(key, `${base}admin/${[selection.tool, selection.cluster, watched.topic].map(encodeURIComponent).join("/")}.json`);
    },
  };
}

function choice(document, label, options, onChoose) {
  const node = element(document, "div.choice", { role: "group", "aria-label": label });
  const buttons = options.map(([name, shown]) => element(document, "button", { type: "button", "aria-pressed": "false", "data-name": name, text: shown, onclick: () => onChoose(name) }));
  node.append(...buttons);
  return { node, press: (chosen) => buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.name === chosen))) };
}

/** The panel's parts: choices and printout. */
function makeView(document, section, change, copy) {
  const tools = choice(document, "Tool", TOOLS.map(({ name, shown }) => [name, shown]), (tool) => change({ tool }));
  const clusters = element(document, "div.choice", { role: "group", "aria-label": "Cluster" });
  const views = choice(document, "Lines shown", SHOWN, (view) => change({ view }));
  const copy_button = element(document, "button.copy", { type: "button", "aria-keyshortcuts": "C", onclick: copy }, ["Copy all ", element(document, "kbd", { text: "C" })]);
  const command = element(document, "code.command");
  const when = element(document, "span.when");
  const status = element(document, "p.quiet");
  const list = element(document, "ol.printout", { tabindex: "0", "aria-label": "What the tool prints, with notes" });
  const printout = makePrintout(document, list);
  section.append(
    element(document, "div.tool-choices", {}, [tools.node, clusters, element(document, "div.tool-acts", {}, [views.node, copy_button])]),
    element(document, "div.tool-head", {}, [command, when]),
    status,
    list,
  );
  let cluster_choice = null;

  return {
    list,
    offerClusters(names) {
      if (cluster_choice?.names.join() === names.join()) return;
      cluster_choice = { names, ...choice(document, "Cluster", names.map((name) => [name, name]), (cluster) => change({ cluster })) };
      clusters.replaceChildren(...cluster_choice.node.children);
    },
    pressCluster: (cluster) => cluster_choice?.press(cluster),
    draw(selection, answer) {
      tools.press(selection.tool);
      cluster_choice?.press(selection.cluster);
      views.press(selection.view);
      const text = answer?.text ?? "";
      copy_button.disabled = text === "";
      list.hidden = text === "";
      setText(status, answer === null ? "Asking…" : (answer.trouble ?? answer.unavailable ?? ""));
      status.hidden = status.textContent === "";
      if (answer?.command) {
        setText(command, `$ ${answer.command}`);
        setText(when, `at ${seconds(answer.at_us)} s`);
      }
      list.className = `printout ${selection.tool}`;
      printout.show(folded(text === "" ? [] : linesOf(answer), VIEWS[selection.view]));
    },
  };
}
