/** Words that the protocols share: lines of links in the text view, reasons of events, and the question under the sentence. */

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

/** The reason of an event in words. */

const WORDS = {
  "behind-mark-delete": "its position is before the mark-delete",
  equal: "the mark-delete is already there",
  "beyond-last-entry": "its position is after the last entry",
  "not-addressed": "it has no position for this cluster",
  "not-pending": "its snapshot is not pending",
  "link-cut": "the link is cut",
  "cache-rule": "the cache is full",
  passed: "the mark-delete has passed it",
};

/** @param {string} reason such as `link-cut` @returns {string} words that follow a colon or stand in parentheses */
export const reasonWords = (reason) => WORDS[reason] ?? String(reason).replaceAll("-", " ");

/** The question that the line under the sentence offers after a failover with duplicates or losses. */

/**
 * @param {{lost?: number | null, duplicates?: number} | null} over the latest failover's figures
 * @returns {string | null} null without duplicates and losses
 */
export function questionOf(over) {
  if (over?.lost) return `Why lost${over.duplicates ? ", why duplicates" : ""}?`;
  return over?.duplicates ? "Why duplicates?" : null;
}
