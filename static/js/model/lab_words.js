/** The facts that lists of labs show about each lab. */

import { counted, seconds } from "./format.js";

/** @type {[limit_s: number, unit: string, size_s: number][]} */
const STEPS = [
  [60, "second", 1],
  [3600, "minute", 60],
  [86_400, "hour", 3600],
  [2_592_000, "day", 86_400],
  [31_536_000, "month", 2_592_000],
  [Infinity, "year", 31_536_000],
];

/** @param {string} iso @param {number} now_ms @returns {string} "3 minutes ago" */
export function ago(iso, now_ms) {
  const since_s = Math.max(0, (now_ms - Date.parse(iso)) / 1000);
  if (since_s < 10) return "just now";
  const [, unit, size] = STEPS.find(([limit]) => since_s < limit);
  return `${counted(Math.floor(since_s / size), unit)} ago`;
}

/** @returns {string} "region-down · seed 1 · at 5.840 s · 3 commands · branch 1" */
export const factsOfLab = (lab) =>
  [lab.scenario, `seed ${lab.seed}`, `at ${seconds(lab.at_us)} s`, lab.commands ? counted(lab.commands, "command") : null, lab.branch ? `branch ${lab.branch}` : null].filter(Boolean).join(" · ");

/** @returns {string} what is deleted together with the lab, for the confirmation */
export const lossOf = (lab) =>
  `It is at ${seconds(lab.at_us)} s${lab.commands ? `; the ${counted(lab.commands, "command")} given to it, its branches and its reports are deleted too` : "; its reports are deleted too"}. Its links stop working. The same scenario with seed ${lab.seed} can be opened again.`;
