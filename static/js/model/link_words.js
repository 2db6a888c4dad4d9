/** Describes the links as lines of the text view, for any protocol. */

import { span } from "./format.js";

/** @returns {{title: string, lines: string[]}} */
export const linkSection = (state) => ({ title: "Links", lines: linesOfLinks(state) });

function linesOfLinks(state) {
  return Object.entries(state.view.links ?? {}).map(([name, link]) => {
    const flying = state.flights_total[name] ?? 0;
    const down = name.split(" -> ").filter((end) => state.view.clusters?.[end] && state.view.clusters[end].state !== "up");
    return `${name.replace("->", "to")}: ${down.length ? `unused, ${down.join(" and ")} ${down.length > 1 ? "are" : "is"} down` : link.state}, ${span(link.latency_us)}${link.slowed ? " (slowed)" : ""}${flying ? `, ${flying} on the way` : ""}.`;
  });
}
