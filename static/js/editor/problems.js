/**
 * The problems of a text: their words, their marks beside the lines, and the list that leads to them.
 *
 * @typedef {{line: number | null, column: number | null, path: string, message: string, hint: string}} Problem as the server sends it
 */

import { counted } from "../model/format.js";
import { element, setText } from "../render/dom.js";

/** @param {Problem} problem @returns {string} as the command line prints it, without the file's name and place */
export const wordsOfProblem = ({ path, message, hint }) => `${path ? `${path}: ` : ""}${message}${hint ? `; ${hint}` : ""}`;

/** @param {Problem} problem @returns {string} */
export const placeOfProblem = ({ line, column }) => (line ? `line ${line}, column ${column}` : "");

/** What is announced when the text was checked. @param {Problem[]} problems @param {number} count of all, also those that are not listed */
export function announcement(problems, count) {
  if (!count) return "No problems.";
  const [first] = problems;
  return `${counted(count, "problem")}. ${first.line ? `Line ${first.line}: ` : ""}${wordsOfProblem(first)}`;
}

/**
 * The problem to go to next from a line, again from the first after the last.
 * @param {Problem[]} problems in the order of the text @param {number} line from 1, where the cursor is @param {number} column from 1
 * @param {1 | -1} step @returns {Problem | null}
 */
export function nextProblem(problems, line, column, step) {
  const placed = problems.filter((problem) => problem.line);
  const after = (problem) => (problem.line - line || problem.column - column) * step > 0;
  const ordered = step > 0 ? placed : [...placed].reverse();
  return ordered.find(after) ?? ordered[0] ?? null;
}

/** @param {Problem} problem @returns {string | null} the name that the server proposes instead of the one at the problem's place */
export const proposalOf = ({ line, hint }) => (line ? (/^did you mean (\S+)\?$/.exec(hint)?.[1] ?? null) : null);

/**
 * A text with a problem's word replaced by the proposal.
 * @param {string} text @param {Problem} problem @param {string} proposal
 */
export function withProposal(text, { line, column }, proposal) {
  const lines = text.split("\n");
  const at = lines[line - 1] ?? "";
  const word = /^[^\s,:{}[\]"'#]+/.exec(at.slice(column - 1))?.[0] ?? "";
  lines[line - 1] = at.slice(0, column - 1) + proposal + at.slice(column - 1 + word.length);
  return lines.join("\n");
}

/**
 * Writes the list of problems. Each is a button that leads to its place; where the server proposes a name, another one takes it.
 * @param {Document} document @param {{heading: HTMLElement, list: HTMLElement, status: HTMLElement}} parts
 * @param {Problem[]} problems @param {number} count @param {{goTo: (problem: Problem) => void, take: (problem: Problem, proposal: string) => void}} on
 */
export function writeProblems(document, { heading, list, status }, problems, count, on) {
  setText(heading, count ? counted(count, "problem") : "No problems");
  setText(status, announcement(problems, count));
  const focused = [...list.children].findIndex((one) => one.contains(document.activeElement));
  list.replaceChildren(...problems.map((problem) => item(document, problem, on)));
  const buttons = list.querySelectorAll("button");
  if (focused >= 0 && buttons.length) buttons[Math.min(focused, buttons.length - 1)].focus();
}

function item(document, problem, { goTo, take }) {
  const words = wordsOfProblem(problem);
  if (!problem.line) return element(document, "li", { text: words });
  const place = element(document, "b", { text: placeOfProblem(problem) });
  const proposal = proposalOf(problem);
  const taken = proposal === null ? [] : [element(document, "button.take", { type: "button", onclick: () => take(problem, proposal), text: `Use ${proposal}` })];
  return element(document, "li", {}, [element(document, "button", { type: "button", onclick: () => goTo(problem) }, [place, ` ${words}`]), ...taken]);
}
