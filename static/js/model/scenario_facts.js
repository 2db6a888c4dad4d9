/** The facts on a scenario's card: duration, number of regions, and the outcome or the visitor's guess. */

import { counted, span } from "./format.js";
import { outcomeParts } from "./played.js";

/**
 * @param {object} scenario
 * @param {{played: boolean, outcome: object | undefined, guess: number | null}} known
 * @returns {(string | {harm: string} | {strong: string})[]} "20 s · 3 regions · 31 duplicates, your guess 12"
 */
export function factParts(scenario, { played, outcome, guess }) {
  const regions = scenario.picture?.lanes?.length;
  const begin = [span(scenario.until_us), regions ? counted(regions, "region") : null].filter(Boolean).join(" · ");
  if (played) return [`${begin} · `, ...(outcome ? outcomeParts(outcome, guess) : ["played"])];
  return [`${begin} · ${guess === null ? "not played" : `your guess ${guess}, not played`}`];
}
