/** The dialog "About this scenario": what the scenario shows and what to watch, if its file contains these texts. */

import { originOf } from "../model/recorded.js";
import { allOf } from "../render/dom.js";
import { paragraphsOf } from "../model/format.js";
import { element, required, setText } from "../render/dom.js";

/**
 * @param {Document} document
 * @param {HTMLElement} root the lab page
 * @returns {{update: (welcome: {title: string, scenario: string, about: string, watch: string, options: {profile: string, named: Object<string, unknown>}, recorded: import("../model/recorded.js").Recorded | null} | null) => void}}
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
