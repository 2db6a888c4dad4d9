/** Explains why no snapshot is requested now: the conditions of the tick in order, the one that fails, and what would change that. */

import { seconds, span } from "../../../model/format.js";
import { element } from "../../../render/dom.js";

/**
 * @param {Object<string, object>} rules by cluster, from forecast.json
 * @param {string} subject the cluster that is shown first
 * @returns {HTMLElement[]}
 */
export function rulesOf(document, rules, subject, at_us) {
  const others = Object.keys(rules).filter((name) => name !== subject);
  const first = rules[subject] ? [headline(document, subject, rules[subject], at_us), questions(document, rules[subject]), until(document, rules[subject])].filter(Boolean) : [];
  return [...first, ...others.map((name) => element(document, "details.other-region", {}, [element(document, "summary", { text: shortly(name, rules[name]) }), questions(document, rules[name]), until(document, rules[name])].filter(Boolean)))];
}

function headline(document, name, found, at_us) {
  if (found.stopped_by) return element(document, "p.lead-in", {}, [element(document, "b", { text: `${name} skips the next snapshot.` })]);
  return element(document, "p.lead-in", {}, [`Nothing blocks the next snapshot: ${name} requests it at ${seconds(found.next_tick_us)} s, in ${span(found.next_tick_us - at_us)}.`]);
}

function shortly(name, found) {
  return found.stopped_by ? `${name} skips the next snapshot too` : `${name} requests its next snapshot at ${seconds(found.next_tick_us)} s`;
}

function questions(document, found) {
  return element(
    document,
    "ol.rules",
    {},
    found.rules.map((rule) => element(document, `li.${rule.holds ? "holds" : "stops"}`, {}, [element(document, "span.sr", { text: rule.holds ? "Yes: " : "No: " }), rule.words])),
  );
}

const until = (document, found) => (found.stopped_by ? element(document, "p.until", {}, [element(document, "b", { text: "What would unblock it: " }), found.until]) : null);
