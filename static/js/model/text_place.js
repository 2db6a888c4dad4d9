/** Finds a line and column, both counted from 1, in a text. */

/** @returns {{start: number, end: number}} range of the word there, or the rest of the line when there is none */
export function placeInText(text, line, column) {
  const lines = text.split("\n");
  const above = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  const rest = lines[line - 1] ?? "";
  const start = Math.min(text.length, above + Math.min(rest.length, column - 1));
  const word = /^[^\s,{}[\]]+/.exec(rest.slice(column - 1));
  return { start, end: word ? start + word[0].length : Math.min(text.length, above + rest.length) };
}
