/** What a viewer may choose to look at: topic or partition, subscription, group. Hidden while there is nothing to choose. */

import { partitionsOf } from "../protocols/pulsar/model/partitions.js";
import { subscriptionsOf, topicsOf } from "../model/state.js";
import { element, required } from "../render/dom.js";

export function makeChoices(document, root, { choose }) {
  const boxes = {
    topic: required(root, "[data-choice=topic]"),
    subscription: required(root, "[data-choice=subscription]"),
    group: required(root, "[data-choice=group]"),
  };
  const shown = {};
  for (const [name, box] of Object.entries(boxes)) {
    box.querySelector("select").addEventListener("change", (event) => {
      choose({ [name]: event.target.value });
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
      const partitions = partitionsOf(state, watched.topic); // they have rows of their own to choose from
      fill("topic", partitions.length === topicsOf(state).length ? [] : topicsOf(state).map((name) => [name, name]), watched.topic);
      const groups = Object.keys(state.view.groups ?? {});
      fill("group", groups.map((name) => [name, name]), watched.group);
      fill("subscription", subscriptionsOf(state, watched.topic).map((name) => [name, name]), watched.subscription);
    },
  };
}
