/**
 * The tab strip under the logs: “Time”, then one tab per panel. One panel is shown at a time.
 * A panel is made when it is first shown and receives the state only while it is shown. `?panel=name` opens the page with that panel.
 */

import { PROTOCOLS, protocolOf } from "../protocols/table.js";
import { element, required, setText } from "../render/dom.js";

export const TIME = "time";

/**
 * What a panel receives, besides its own empty section.
 * @typedef {object} PanelParts
 * @property {Document} document
 * @property {import("../render/dom.js").PageWindow} window
 * @property {ReturnType<import("../transport/lab_link.js").makeLabLink>} link play, seek, seekSeq, command
 * @property {ReturnType<import("../wire/http.js").makeRequests>} requests
 * @property {string} base path of the lab, ending in "/"
 * @property {() => import("../model/state.js").LabState} getState
 * @property {() => any} getWatched topic, subscription, subject, target, clusters
 * @property {(notice: {error: string, hint?: string, tone?: string}) => void} say
 * @property {() => void} wake requests one more drawing
 * @property {ReturnType<import("./story.js").makeStoryPlayer>} story plays a message's story in the footer
 * @property {ReturnType<import("./lights.js").makeLights>} lights highlights the causal cone of a row
 * @property {() => any} plotly the library, undefined until it is loaded
 */

/**
 * One tab with its section.
 * @typedef {object} Tab
 * @property {HTMLElement} tab
 * @property {HTMLElement} section
 * @property {Panel} [panel] none for “Time”
 * @property {PanelView | null} view made when the panel is first shown
 */

/**
 * @param {HTMLElement} root
 * @param {Panel[]} panels
 * @param {PanelParts} parts
 * @param {() => void} onShow called when another tab is shown
 */
export function makePanels(root, panels, parts, onShow) {
  const tabs = makeTabs(parts.document, root, panels);
  const asked = new URLSearchParams(parts.window.location.search).get("panel");
  let decided = tabs.held.has(asked);
  let offered = false;
  let shown = TIME;
  for (const [name, { tab }] of tabs.held) tab.addEventListener("click", () => show(name));
  tabs.strip.addEventListener("keydown", onKey);
  if (decided) choose(asked); // the page is not complete yet: its first drawing shows the panel

  function choose(name) {
    tabs.turn(shown, name);
    shown = name;
    const next = tabs.held.get(name);
    next.view ??= next.panel?.make(next.section, parts) ?? null;
  }

  /** Hides tabs of which the lab has nothing, and shows the family's panel first, unless the address or the viewer chose another one. */
  function decide({ welcome }) {
    if (offered || !welcome) return;
    offered = true;
    const own = tabs.offer(welcome, asked);
    if (own && !decided) choose(own);
    else if (tabs.held.get(shown).tab.hidden && tabs.names().length > 0) choose(tabs.names()[0]);
    decided = true;
  }

  function show(name) {
    decided = true;
    choose(name);
    onShow();
  }

  function onKey(event) {
    const to = { ArrowRight: tabs.beside(shown, 1), ArrowLeft: tabs.beside(shown, -1), Home: tabs.names()[0], End: tabs.names().at(-1) }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    show(to);
    tabs.held.get(shown).tab.focus();
  }

  const view = () => tabs.held.get(shown).view;
  function toTime() {
    show(tabs.held.get(TIME).tab.hidden ? tabs.names()[0] : TIME);
    tabs.held.get(shown).section.focus();
  }

  return {
    show,
    shown: () => shown,
    /** The action of a key of the time diagram in the panel that is shown, if that panel has its own time axis. */
    actOf: (name) => view()?.acts?.[name],
    acts: { nextPanel: () => show(tabs.beside(shown, 1)), copyShown: () => view()?.copy?.(), toTime },
    update: (state, watched, given) => {
      decide(state);
      view()?.update(state, watched, given);
    },
  };
}

/** The strip of tabs and the panels' sections, as elements. @param {Panel[]} panels */
function makeTabs(document, root, panels) {
  const strip = required(root, "[data-part=tabs]");
  const home = required(root, "[data-part=panels]");
  /** @type {Map<string, Tab>} */
  const held = new Map([[TIME, { tab: required(strip, "#tab-time"), section: required(root, "#panel-time"), view: null }]]);
  for (const panel of panels) {
    const tab = element(document, "button.tab", { type: "button", role: "tab", id: `tab-${panel.name}`, "aria-controls": `panel-${panel.name}`, "aria-selected": "false", tabindex: -1, text: panel.title });
    const section = element(document, "section.panel", { role: "tabpanel", id: `panel-${panel.name}`, "aria-labelledby": `tab-${panel.name}`, tabindex: -1, hidden: true, "data-panel": panel.name });
    strip.append(tab);
    home.append(section);
    held.set(panel.name, { tab, section, panel, view: null });
  }
  strip.hidden = panels.length === 0;

  const names = () => [...held].filter(([, { tab }]) => !tab.hidden).map(([name]) => name);

  function mark(name, on) {
    const { tab, section } = held.get(name);
    section.hidden = !on;
    tab.setAttribute("aria-selected", String(on));
    tab.setAttribute("tabindex", on ? "0" : "-1");
  }

  return {
    strip,
    held,
    /** Names of the visible tabs. */
    names,
    beside(name, step) {
      const all = names();
      return all[(all.indexOf(name) + step + all.length) % all.length];
    },
    turn(before, next) {
      mark(before, false);
      mark(next, true);
      strip.scrollLeft = held.get(next).tab.offsetLeft - strip.offsetLeft - 40; // on a phone the strip is wider than the page
    },
    /** Hides the tabs of which the lab has nothing, except the requested one. @returns {string | undefined} the panel of the lab's family */
    offer({ names: kinds, family, recorded }, asked) {
      const named = { ...kinds, peers: (kinds.clusters ?? []).slice(1) };
      /** @param {Panel} panel */
      const serves = ({ needs, simulated }) => !(recorded && simulated) && (!needs || [needs].flat().some((kind) => named[kind]?.length > 0));
      for (const panel of panels) held.get(panel.name).tab.hidden = !serves(panel) && (panel.name !== asked || Boolean(recorded));
      held.get(TIME).tab.hidden = named.peers.length === 0 && !(kinds.groups?.length > 0); // it shows messages between clusters and the cost of a failover, or the leaders of a group: a single cluster has neither
      return panels.find((panel) => panel.family === family && serves(panel))?.name;
    },
  };
}

/** The list of panels of all protocols. */

/**
 * The panels below the logs beside “Time”, in the order of their tabs: those of each protocol. A panel that several protocols
 * have is listed once. To add one, put it in its protocol's manifest; the recipe in CONTRIBUTING.md explains what a panel is.
 *
 * @typedef {object} Panel
 * @property {string} name in addresses (`?panel=name`) and tests, words with hyphens
 * @property {string} title on the tab
 * @property {string} [family] of scenarios that it belongs to: there it is the first panel
 * @property {string | string[]} [needs] kinds of names of which the lab must have at least one, such as `tenants`; without any there is no tab unless the address names the panel;
 *   `peers` are the clusters other than the first
 * @property {boolean} [simulated] whether it needs a simulated run: a recorded one has no such tab
 * @property {(section: HTMLElement, parts: PanelParts) => PanelView} make called once, when it is first shown
 */
/**
 * @typedef {object} PanelView
 * @property {(state: import("../model/state.js").LabState, watched: object, given: {theme: object, ratio: number, wall_ms: number, now_us: number, lit: object | null, landmarks: object, loading: boolean}) => void} update
 *   called after each frame or change while the panel is shown, never while it is not
 * @property {Object<string, () => void>} [acts] actions of the keys of the time diagram while the panel is shown
 * @property {() => void} [copy] copies the panel's text, for panels with a text to copy
 */

/** @type {Panel[]} */
export const PANELS = [...new Set(PROTOCOLS.flatMap(({ panels }) => panels))];

/**
 * The questions under the sentence: why messages were duplicated or lost, and what would have helped.
 * The first is shown once there are some, the second after a failover. Each opens the panel that answers it.
 */

/** @param {HTMLElement} root @param {ReturnType<makePanels>} panels */
export function makeQuestionButtons(root, panels) {
  const line = required(root, "[data-part=questions]");
  const why = required(line, "[data-act=why-duplicates]");
  for (const [act, name] of Object.entries({ "why-duplicates": "why-duplicates", "what-helps": "what-if" })) {
    required(line, `[data-act=${act}]`).addEventListener("click", () => {
      panels.show(name);
      const panel = required(root, `#panel-${name}`);
      panel.scrollIntoView({ block: "nearest" });
      panel.focus({ preventScroll: true });
    });
  }
  return {
    update(state, watched) {
      const { question, shown } = protocolOf(state).ask(state, watched);
      if (question) setText(why, question);
      why.hidden = !question;
      if (line.hidden !== !shown) line.hidden = !shown;
    },
  };
}
