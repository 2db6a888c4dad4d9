/**
 * Builds the tree of the branches of a run.
 * A branch begins with a command at an instant of its parent and does not contain the parent's later events.
 */

import { commandWords } from "./command_words.js";
import { capitalised, seconds } from "./format.js";

/**
 * @typedef {object} BranchNode
 * @property {number} number
 * @property {number | null} parent
 * @property {number} at_us where it branches off its parent
 * @property {number} furthest_us how far it has been simulated
 * @property {string} words the command that began it
 * @property {number} depth
 * @property {boolean} on_way whether it is the branch shown or one of its ancestors
 */

/**
 * @param {{number: number, parent: number | null, at_us: number, command: object | null, furthest_us: number}[]} branches
 * @param {import("./state.js").LabState} state
 * @param {number} shown number of the branch that the lab shows
 * @returns {BranchNode[]} parents before their children, siblings by instant
 */
export function branchTree(branches, state, shown) {
  const by_number = new Map(branches.map((branch) => [branch.number, branch]));
  const on_way = new Set();
  for (let at = by_number.get(shown); at; at = by_number.get(at.parent)) on_way.add(at.number);
  const nodes = [];
  const visit = (branch, depth) => {
    nodes.push({ number: branch.number, parent: branch.parent ?? null, at_us: branch.at_us, furthest_us: branch.furthest_us, words: branchWords(branch, state), depth, on_way: on_way.has(branch.number) });
    const children = branches.filter((one) => one.parent === branch.number).sort((a, b) => a.at_us - b.at_us || a.number - b.number);
    for (const child of children) visit(child, depth + 1);
  };
  for (const root of branches.filter((one) => !by_number.has(one.parent))) visit(root, 0);
  return nodes;
}

/** The branches with current lengths: frames between two snapshot frames report the length of the shown branch only. */
export const branchesNow = (state) => state.branches.map((one) => (one.number === state.view?.branch ? { ...one, furthest_us: Math.max(one.furthest_us, state.view.furthest_us) } : one));

/** @returns {string} "As planned" for the first, else the command that began it, such as "Crash a cluster: us-west, at 5.100 s" */
function branchWords(branch, state) {
  if (!branch.command) return "As planned";
  const { do: name, ...given } = branch.command;
  const { does, to } = commandWords(state, name, given);
  return `${capitalised(does)}${to ? `: ${to},` : ""} at ${seconds(branch.at_us)} s`;
}
