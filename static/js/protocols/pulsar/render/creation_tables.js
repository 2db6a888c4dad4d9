/** Tables of the panel “Topics and policies”: topics and policies of every cluster side by side, with differences marked. */

import { shapeWords, sideBySide, topicsOf } from "../model/creation.js";
import { element } from "../../../render/dom.js";
import { columnHeads } from "../../../render/terms.js";

/** @returns {HTMLElement} topics by cluster: number of partitions, schemas, clusters that it is replicated to */
export function topicTable(document, clusters) {
  const names = Object.keys(clusters);
  const head = headOf(document, "topic", clusters);
  const rows = topicsOf(clusters).map(({ topic, namespace, here, differs }) =>
    element(document, `tr${differs ? ".apart" : ""}`, {}, [
      element(document, "th", { scope: "row" }, [topic, element(document, "span.of", { text: namespace })]),
      ...here.map((one, place) => element(document, "td", {}, topicCell(document, one, names[place], differs))),
    ]),
  );
  return scrolling(document, "Topics by cluster", head, rows);
}

function topicCell(document, one, cluster, differs) {
  const parts = [element(document, `span.shape${one.partitions === null ? ".absent" : ""}`, {}, [...boxes(document, one.partitions), shapeWords(one)])];
  if (differs && one.partitions !== null) parts.push(element(document, "span.sr", { text: " (differs)" }));
  const elsewhere = one.list.filter((name) => name !== cluster);
  if (one.partitions !== null && elsewhere.length) parts.push(element(document, "span.detail", { text: `replicated to ${elsewhere.join(", ")} (list of the ${one.list_of})` }));
  if (one.schemas.length) parts.push(element(document, "span.detail", { text: `schemas ${one.schemas.map((name, version) => `${version}: ${name}`).join(", ")}` }));
  return parts;
}

const BOXES_MAX = 12;

/** One small square for each partition; a wide one for a plain topic. */
function boxes(document, partitions) {
  if (partitions === null) return [];
  const count = Math.min(partitions, BOXES_MAX);
  const drawn = partitions === 0 ? [element(document, "i.plain-log")] : Array.from({ length: count }, () => element(document, "i"));
  return [element(document, "span.boxes", { "aria-hidden": "true" }, drawn)];
}

/** @returns {HTMLElement[]} one table for each namespace */
export function policyTables(document, clusters) {
  return sideBySide(clusters).map(({ name, policies }) => {
    const rows = policies.map(({ policy, values, differs }) =>
      element(document, `tr${differs ? ".differs" : ""}`, {}, [element(document, "th", { scope: "row", text: policy }), ...values.map((value) => element(document, "td", { text: value ?? "no such namespace" }))]),
    );
    return scrolling(document, `Policies of ${name}`, headOf(document, { name }, clusters), rows);
  });
}

function headOf(document, first, clusters) {
  return element(document, "tr", {}, columnHeads(document, [first, ...Object.entries(clusters).map(([name, one]) => ({ name: one.state === "up" ? name : `${name} (${one.state})` }))]));
}

function scrolling(document, label, head, rows) {
  const table = element(document, "table", {}, [element(document, "thead", {}, [head]), element(document, "tbody", {}, rows)]);
  return element(document, "div.scrolls", { tabindex: 0, role: "region", "aria-label": label }, [table]);
}
