/**
 * The tab strip under the logs: “Time”, then one tab per panel. One is shown at a time, so the page stays one calm whole;
 * a panel is made when it is first shown and told of the state only while it is shown. `?panel=name` opens the page at one.
 */

import { element, required } from "../render/dom.js";

const TIME = "time";

/**
 * What a panel is given, besides its own empty section.
 * @typedef {object} PanelParts
 * @property {Document} document
 * @property {Window} window
 * @property {ReturnType<import("../transport/lab_link.js").makeLabLink>} link play, seek, seekSeq, command
 * @property {ReturnType<import("../wire/http.js").makeRequests>} requests
 * @property {string} base path of the lab, ending in "/"
 * @property {() => import("../model/state.js").LabState} getState
 * @property {() => object} getWatched topic, subscription, subject, target, clusters
 * @property {(notice: {error: string, hint?: string, tone?: string}) => void} say
 * @property {() => void} wake asks for one more drawing
 * @property {ReturnType<import("./story_player.js").makeStoryPlayer>} story tells a message's story at the foot
 * @property {ReturnType<import("./lights.js").makeLights>} lights lights the causal cone of a row
 * @property {() => object | undefined} plotly the library once it has come
 */

/**
 * @param {HTMLElement} root
 * @param {import("./panel_list.js").Panel[]} panels
 * @param {PanelParts} parts
 * @param {() => void} onShow another tab is shown
 */
export function makePanels(root, panels, parts, onShow) {
  const { document, window } = parts;
  const strip = required(root, "[data-part=tabs]");
  const home = required(root, "[data-part=panels]");
  const time = { tab: required(strip, "#tab-time"), section: required(root, "#panel-time"), view: null };
  const held = new Map([[TIME, time]]);
  let shown = TIME;

  for (const panel of panels) {
    const tab = element(document, "button.tab", { type: "button", role: "tab", id: `tab-${panel.name}`, "aria-controls": `panel-${panel.name}`, "aria-selected": "false", tabindex: -1, text: panel.title });
    const section = element(document, "section.panel", { role: "tabpanel", id: `panel-${panel.name}`, "aria-labelledby": `tab-${panel.name}`, tabindex: -1, hidden: true, "data-panel": panel.name });
    strip.append(tab);
    home.append(section);
    held.set(panel.name, { tab, section, panel, view: null });
  }
  strip.hidden = panels.length === 0;
  for (const [name, { tab }] of held) tab.addEventListener("click", () => show(name));
  strip.addEventListener("keydown", onKey);
  const asked = new URLSearchParams(window.location.search).get("panel");
  let decided = held.has(asked);
  let offered = false;
  if (decided) choose(asked); // the page is still being put together: its first drawing shows it

  function choose(name) {
    const before = held.get(shown);
    const next = held.get(name);
    shown = name;
    for (const [one, on] of [
      [before, false],
      [next, true],
    ]) {
      one.section.hidden = !on;
      one.tab.setAttribute("aria-selected", String(on));
      one.tab.setAttribute("tabindex", on ? "0" : "-1");
    }
    strip.scrollLeft = next.tab.offsetLeft - strip.offsetLeft - 40; // on a phone the strip is longer than the page is wide
    next.view ??= next.panel?.make(next.section, parts) ?? null;
  }

  /** Tabs of what the lab has nothing of are put away. What its family is about is shown first, unless somebody wants something else. */
  function decide({ welcome }) {
    if (offered || !welcome) return;
    offered = true;
    const named = { ...welcome.names, peers: welcome.names.clusters.slice(1) };
    const serves = ({ needs }) => !needs || [needs].flat().some((kind) => named[kind].length > 0);
    for (const panel of panels) held.get(panel.name).tab.hidden = !serves(panel) && panel.name !== asked;
    time.tab.hidden = named.peers.length === 0; // it shows what travels between clusters, and what a failover would cost: one alone has neither
    const own = panels.find((panel) => panel.family === welcome.family && serves(panel));
    if (own && !decided) choose(own.name);
    else if (held.get(shown).tab.hidden && names().length > 0) choose(names()[0]);
    decided = true;
  }

  const names = () => [...held].filter(([, { tab }]) => !tab.hidden).map(([name]) => name);

  function beside(step) {
    const all = names();
    return all[(all.indexOf(shown) + step + all.length) % all.length];
  }

  function show(name) {
    decided = true;
    choose(name);
    onShow();
  }

  function onKey(event) {
    const to = { ArrowRight: beside(1), ArrowLeft: beside(-1), Home: names()[0], End: names().at(-1) }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    show(to);
    held.get(shown).tab.focus();
  }

  return {
    show,
    shows: (name) => shown === name,
    /** What a key of the time diagram does in the panel that is shown, if it has an axis of its own. */
    actOf: (name) => held.get(shown).view?.acts?.[name],
    acts: {
      nextPanel: () => show(beside(1)),
      copyShown: () => held.get(shown).view?.copy?.(),
      toTime: () => {
        show(time.tab.hidden ? names()[0] : TIME);
        held.get(shown).section.focus();
      },
    },
    update: (state, watched, given) => {
      decide(state);
      held.get(shown).view?.update(state, watched, given);
    },
  };
}
