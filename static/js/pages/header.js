/** The header of the lab page: number of viewers, report, keys, and the dialog “About this scenario”. */

import { counted, paragraphsOf, seconds } from "../model/format.js";
import { NO_COMMANDS, originOf, recordedIn } from "../model/state.js";
import { makeShare } from "./share.js";
import { protocolOf } from "../protocols/table.js";
import { allOf, element, required, setText } from "../render/dom.js";
import { keyGroupsOf } from "../transport/keys.js";

/** The dialog "About this scenario": what the scenario shows and what to watch, if its file contains these texts. */

/**
 * @param {Document} document
 * @param {HTMLElement} root the lab page
 * @returns {{update: (welcome: {title: string, scenario: string, about: string, watch: string, options: {profile: string, named: Object<string, unknown>}, recorded: import("../model/state.js").Recorded | null} | null) => void}}
 */
export function makeAbout(document, root) {
  const dialog = required(root, "dialog[data-part=about]");
  const buttons = allOf(root, "[data-act=about]");
  let written = null;
  for (const button of buttons) button.addEventListener("click", () => dialog.showModal());
  required(dialog, "[data-act=about-close]").addEventListener("click", () => dialog.close());

  function write({ title, scenario, about, watch, options, recorded }) {
    setText(required(dialog, "[data-part=about-title]"), title);
    required(dialog, "[data-part=about-text]").replaceChildren(
      ...paragraphsOf(about).map((text) => element(document, "p", { text })),
      ...(watch ? [element(document, "h3", { text: "What to watch" }), ...paragraphsOf(watch).map((text) => element(document, "p", { text }))] : []),
      ...(recorded ? recordedNodes(document, recorded) : []),
      element(document, "p.quiet", { text: [`Scenario ${scenario}`, ...optionWords(options)].join(" · ") }),
    );
    for (const button of buttons) button.hidden = !about && !recorded;
  }

  return {
    update(welcome) {
      if (!welcome || welcome === written) return;
      written = welcome;
      write(welcome);
    },
  };
}

/** The profile, and the options that the scenario names, with their values. @returns {Array<string>} */
function optionWords(options) {
  if (!options) return [];
  const named = Object.entries(options.named).map(([name, value]) => `${name}: ${typeof value === "object" ? JSON.stringify(value) : value}`);
  return [...(options.profile ? [`profile ${options.profile}`] : []), ...(named.length ? [`options ${named.join(", ")}`] : [])];
}

/** Where a run was recorded, and which kinds of rows were measured and which inferred. */
function recordedNodes(document, recorded) {
  const list = (title, kinds) => (kinds.length ? [element(document, "p", {}, [element(document, "b", { text: title }), ` ${kinds.join(", ")}.`])] : []);
  return [
    element(document, "h3", { text: "A recorded run" }),
    element(document, "p", { text: `${originOf(recorded)} Nothing in it is simulated, and it takes no commands.` }),
    ...list("Measured:", recorded.measured),
    ...list("Inferred:", recorded.inferred),
  ];
}

/** Used until the first frame names the lab's protocol. */
const EVERY_KEY = { without: [], says: {} };

export function makeHeader(document, root, parts) {
  const { window, requests, base, token, getState, say, ask } = parts;
  const viewers = required(root, "[data-part=viewers]");
  const seed = required(root, "[data-part=seed]");
  const watch = required(root, "[data-part=watch]");
  const recorded_line = required(root, "[data-part=recorded]");
  const words_button = required(root, "[data-act=words]");
  const about = makeAbout(document, root);
  const help = makeHelp(document, root);
  makeShare(root, { ...parts, document });
  listenToReport(root, { window, requests, base, token, getState, say, ask });

  return {
    acts: { help: help.toggle },
    wordsShown: (open) => words_button.setAttribute("aria-expanded", String(open)),
    update(state, watched) {
      const others = state.viewers - 1;
      setText(viewers, others > 0 ? counted(others, "other viewer") : "");
      if (state.welcome) {
        about.update(state.welcome);
        setText(seed, `seed ${state.welcome.seed}`);
        if (state.welcome.watch && !watch.textContent.trim()) setText(watch, state.welcome.watch);
        root.classList.toggle("watching-only", !state.welcome.owner);
        showRecorded(root, recorded_line, recordedIn(state));
      }
      const protocol = protocolOf(state);
      help.write(keysOf(protocol.keys, recordedIn(state)));
      const possible = protocol.possible(state, watched);
      root.classList.toggle("without-snapshots", !possible.snapshots);
      root.classList.toggle("without-peers", !possible.peers);
    },
  };
}

/** Marks the page of a recorded run and says where it was recorded. */
function showRecorded(root, line, recorded) {
  root.classList.toggle("recorded", recorded !== null);
  line.hidden = recorded === null;
  if (!recorded) return;
  setText(required(line, "span"), originOf(recorded));
  const beside = /** @type {HTMLAnchorElement} */ (required(line, "a"));
  beside.hidden = !recorded.beside;
  if (beside.getAttribute("href") !== recorded.beside) beside.setAttribute("href", recorded.beside);
}

const keys_of_recorded = new Map();

/** The keys of a protocol, for a recorded run without those that give commands. */
function keysOf(keys, recorded) {
  if (!recorded) return keys;
  if (!keys_of_recorded.has(keys)) keys_of_recorded.set(keys, { ...keys, without: [...keys.without, ...NO_COMMANDS] });
  return keys_of_recorded.get(keys);
}

/** The dialog that lists the keys. */
function makeHelp(document, root) {
  const dialog = required(root, "dialog[data-part=help]");
  let written = null;

  function write(keys_of) {
    if (written === keys_of) return;
    written = keys_of;
    const line = ({ shown, says }) => [element(document, "dt", {}, [element(document, "kbd", { text: shown })]), element(document, "dd", { text: says })];
    const group = ({ title, keys }) => element(document, "section", {}, [element(document, "h3", { text: title }), element(document, "dl", {}, keys.flatMap(line))]);
    required(dialog, "[data-part=keys]").replaceChildren(...keyGroupsOf(keys_of).filter(({ keys }) => keys.length).map(group));
  }

  function toggle() {
    if (dialog.open) dialog.close();
    else {
      dialog.showModal();
      dialog.scrollTop = 0; // showModal scrolled to the focused button at the bottom
    }
  }

  write(EVERY_KEY);
  required(root, "[data-act=help]").addEventListener("click", toggle);
  required(dialog, "[data-act=help-close]").addEventListener("click", () => dialog.close());
  return { write, toggle };
}

/** The button that requests a report. */
function listenToReport(root, { window, requests, base, token, getState, say, ask }) {
  required(root, "[data-act=report]").addEventListener("click", chooseReport);

  /** A report ends at the scenario's end. If the lab was run beyond it, the owner may choose the later end. */
  function chooseReport() {
    const { welcome, view } = getState();
    const until_us = welcome?.until_us;
    if (!welcome?.owner || !view || view.furthest_us <= until_us) {
      report();
      return;
    }
    ask({
      title: "Report up to which instant?",
      words: `The scenario ends at ${seconds(until_us)} s; this branch has run to ${seconds(view.furthest_us)} s.`,
      choices: [
        { says: `To the scenario's end, ${seconds(until_us)} s`, act: () => report() },
        { says: `To ${seconds(view.furthest_us)} s`, act: () => report({ until_us: view.furthest_us }) },
      ],
    });
  }

  async function report(more = {}) {
    if (!getState().welcome?.owner) {
      say({ error: "You are viewing. Only the owner can request a report of this lab.", hint: "Take a copy to have a lab of your own at this instant.", tone: "plain" });
      return;
    }
    try {
      const made = await requests.post(`${base}reports/`, { token, ...more });
      if (made?.url) window.location.assign(made.url);
      else say({ error: "The report is queued.", tone: "plain" });
    } catch (reason) {
      say({ error: reason.message, hint: reason.hint });
    }
  }
}
