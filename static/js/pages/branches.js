/** The dialog of branches: a tree in which each branch can be chosen, with a bar for its time; undo returns to the parent branch. */

import { commandWords } from "../model/commands.js";
import { capitalised, seconds } from "../model/format.js";
import { element, found, required, setText } from "../render/dom.js";

/**
 * Builds the tree of the branches of a run.
 * A branch begins with a command at an instant of its parent and does not contain the parent's later events.
 */

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
 * @param {import("../model/state.js").LabState} state
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

const SVG = "http://www.w3.org/2000/svg";

/**
 * @param {Document} document
 * @param {HTMLElement} root
 * @param {{link: ReturnType<import("../transport/lab_link.js").makeLabLink>, getState: () => import("../model/state.js").LabState, say: (notice: object) => void}} parts
 */
export function makeBranches(document, root, { link, getState, say }) {
  const button = required(root, "button[data-act=branches]");
  const dialog = required(root, "dialog[data-part=branches-dialog]");
  const list = required(dialog, "[data-part=branches]");
  let written = "";
  required(dialog, "[data-act=branches-close]").addEventListener("click", () => dialog.close());
  button.addEventListener("click", show);

  function show() {
    if (dialog.open) {
      dialog.close();
      return;
    }
    if (getState().branches.length < 2) {
      say({ error: "This run has one branch.", hint: "A fault or a failover starts another branch; the run without it is kept.", tone: "plain" });
      return;
    }
    dialog.showModal();
    write(getState());
    found(list, "button[aria-current]")?.focus();
  }

  function write(state) {
    const all = branchesNow(state);
    const end_us = Math.max(1, ...all.map((one) => one.furthest_us));
    const focused = [...list.children].findIndex((line) => line.contains(document.activeElement));
    list.replaceChildren(...branchTree(all, state, state.view.branch).map((node) => lineOf(document, node, state, end_us, () => choose(node.number))));
    if (focused >= 0) found(list, `li:nth-child(${focused + 1}) button`)?.focus();
  }

  function choose(number) {
    dialog.close();
    if (number !== getState().view.branch) link.branch(number);
  }

  /** Undoes the last command: shows the parent branch at the same instant, or else seeks to before a command that began no branch. */
  function undo() {
    const state = getState();
    const here = state.branches.find((one) => one.number === state.view?.branch);
    if (here && here.parent !== null && here.parent !== undefined) {
      if (link.branch(here.parent)) link.seek(here.at_us);
      return;
    }
    const row = state.kept.commands.at(-1);
    if (row) link.seek(Math.max(0, row.at_us - 1));
    else say({ error: "Nothing to undo.", hint: "No command has been given in this branch.", tone: "plain" });
  }

  return {
    acts: { branches: show, undo },
    update(state) {
      const key = JSON.stringify([dialog.open ? branchesNow(state) : state.branches, state.view.branch]);
      if (key === written) return;
      written = key;
      button.hidden = state.branches.length < 2;
      setText(button.firstChild, `Branches ${state.branches.length} `);
      if (dialog.open) write(state);
    },
  };
}

/** A branch as a line of the list: a button with its text, and a bar for its own part of the run. */
function lineOf(document, node, state, end_us, choose) {
  const current = node.number === state.view.branch;
  const words = element(document, "span.branch-words", {}, [`${"\u2003".repeat(node.depth)}${node.depth ? "└ " : ""}`, element(document, "b", { text: node.words })]);
  const note = element(document, "small", { text: `${current ? "shown now · " : ""}run to ${seconds(node.furthest_us, 1)} s` });
  const bar = barOf(document, node, end_us, (state.at_us / end_us) * 100, current);
  const [left, right] = [state.view.branch, node.number].sort((one, other) => one - other);
  const beside = element(document, "a.beside", { href: `beside/?left=branch-${left}&right=branch-${right}`, text: "Compare with the shown branch", hidden: current });
  return element(document, "li", {}, [element(document, `button.branch${node.on_way ? ".on-way" : ""}`, { type: "button", "aria-current": current ? "true" : null, onclick: choose }, [words, note, bar]), beside]);
}

function barOf(document, node, end_us, now_percent, current) {
  const [from, to] = [node.at_us, Math.max(node.furthest_us, node.at_us)].map((us) => (us / end_us) * 100);
  const bar = document.createElementNS(SVG, "svg");
  for (const [name, value] of Object.entries({ viewBox: "0 0 100 12", preserveAspectRatio: "none", class: "branch-bar", "aria-hidden": "true" })) bar.setAttribute(name, value);
  const boxes = {
    past: [0, 5.5, from, 1],
    own: [from, 4, Math.max(0.8, to - from), 4],
    now: [Math.min(99.2, now_percent), 0, 0.8, current ? 12 : 0],
  };
  for (const [kind, box] of Object.entries(boxes)) {
    const rect = document.createElementNS(SVG, "rect");
    ["x", "y", "width", "height"].forEach((name, at) => rect.setAttribute(name, String(box[at])));
    rect.setAttribute("class", kind);
    bar.append(rect);
  }
  return bar;
}
