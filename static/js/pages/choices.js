/** The selectors of what to show: topic or partition, subscription, group. Hidden when there is nothing to choose. */

import { protocolOf } from "../protocols/table.js";
import { element, required } from "../render/dom.js";

export function makeChoices(document, root, { choose }) {
  const boxes = {
    topic: required(root, "[data-choice=topic]"),
    subscription: required(root, "[data-choice=subscription]"),
    group: required(root, "[data-choice=group]"),
  };
  const shown = {};
  for (const [name, box] of Object.entries(boxes)) {
    const select = box.querySelector("select");
    select.addEventListener("change", () => {
      choose({ [name]: select.value });
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
      const offered = protocolOf(state).choices(state, watched);
      for (const name of Object.keys(boxes)) fill(name, (offered[name] ?? []).map((one) => [one, one]), watched[name]);
    },
  };
}
