/** The small print of a card: how long, how many regions, and the outcome or the visitor's guess. */

import { counted, span } from "./format.js";
import { outcomeParts } from "./played.js";

/**
 * @param {object} scenario
 * @param {{played: boolean, outcome: object | undefined, said: number | null}} known
 * @returns {(string | {harm: string} | {strong: string})[]} "20 s · 3 regions · 31 twice, you said 12"
 */
export function factParts(scenario, { played, outcome, said }) {
  const regions = scenario.picture?.lanes?.length;
  const begin = [span(scenario.until_us), regions ? counted(regions, "region") : null].filter(Boolean).join(" · ");
  if (played) return [`${begin} · `, ...(outcome ? outcomeParts(outcome, said) : ["played"])];
  return [`${begin} · ${said === null ? "not played" : `your guess ${said}, not played`}`];
}
