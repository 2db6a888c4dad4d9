/** What a viewer may choose to look at: topic or partition, subscription, branch. Hidden while there is nothing to choose. */

import { seconds } from "../model/format.js";
import { subscriptionsOf, topicsOf } from "../model/state.js";
import { element, required } from "../render/dom.js";

export function makeChoices(document, root, { choose, onBranch }) {
  const boxes = {
    topic: required(root, "[data-choice=topic]"),
    subscription: required(root, "[data-choice=subscription]"),
    branch: required(root, "[data-choice=branch]"),
  };
  const shown = {};
  for (const [name, box] of Object.entries(boxes)) {
    box.querySelector("select").addEventListener("change", (event) => {
      if (name === "branch") onBranch(Number(event.target.value));
      else choose({ [name]: event.target.value });
    });
  }

  function fill(name, options, value) {
    const key = JSON.stringify([options, value]);
    if (shown[name] === key) return;
    shown[name] = key;
    const select = boxes[name].querySelector("select");
    boxes[name].hidden = options.length < 2;
    select.replaceChildren(...options.map(([one, text]) => element(document, "option", { value: one, text })));
    select.value = String(value);
  }

  return {
    update(state, watched) {
      fill("topic", topicsOf(state).map((name) => [name, name]), watched.topic);
      fill("subscription", subscriptionsOf(state, watched.topic).map((name) => [name, name]), watched.subscription);
      fill("branch", state.branches.map((branch) => [String(branch.number), branch.parent === null || branch.parent === undefined ? "as planned" : `${branch.number}: ${wordsOf(branch)}`]), String(state.view.branch));
    },
  };
}

/** A branch is named after the command that began it. */
function wordsOf(branch) {
  const command = branch.command?.do ?? branch.command ?? "";
  return `${command} at ${seconds(branch.at_us)} s`;
}
