/**
 * The panel “pulsar-admin”: what pulsar-admin and a broker's metrics would print at the instant shown, with notes.
 * The viewer chooses the cluster. The printout is requested when the instant changes, during playback at most a few times per second.
 */

import { seconds } from "../../../model/format.js";
import { VIEWS, folded, linesOf } from "../model/printout.js";
import { element, setText } from "../../../render/dom.js";
import { makePrintout } from "../render/printout.js";

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
