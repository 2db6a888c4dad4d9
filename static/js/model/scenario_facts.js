/** The small print of a card: how long, how many regions. The outcome stays untold until it has been played. */

import { counted, span } from "./format.js";

/** @returns {string} "20 s · 3 regions · region-down" */
export function factsOf(scenario) {
  const regions = scenario.picture?.lanes?.length;
  return [span(scenario.until_us), regions ? counted(regions, "region") : null, scenario.name].filter(Boolean).join(" · ");
}
