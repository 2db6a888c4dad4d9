/**
 * The printout of an operator's tool as lines, with differences to other clusters and notes of the lab.
 * Runs of lines without differences or notes can be folded.
 */

/** Shortest run that is folded; folding shorter ones would save no space. */
const FOLDED_AT_LEAST = 3;

/**
 * @typedef {{number: number, text: string, note: string, elsewhere: [string, string][]}} PrintedLine lines count from 0; elsewhere: the line in other clusters
 * @typedef {{number: number, folded: number}} Fold a run of lines, from the first one's number
 */

/**
 * @param {{text: string, notes: [number, string][], differs: [number, Object<string, string>][]}} answer of the server
 * @returns {PrintedLine[]}
 */
export function linesOf(answer) {
  const notes = new Map(answer.notes);
  const differs = new Map(answer.differs);
  const texts = answer.text.split("\n");
  if (texts.at(-1) === "") texts.pop(); // the text ends in a line break
  return texts.map((text, number) => ({ number, text, note: notes.get(number) ?? "", elsewhere: Object.entries(differs.get(number) ?? {}) }));
}

/** The views by name: which lines are not folded. */
export const VIEWS = {
  noted: (line) => line.note !== "",
  different: (line) => line.note !== "" || line.elsewhere.length > 0,
  every: () => true,
};

/**
 * @param {PrintedLine[]} lines
 * @param {(line: PrintedLine) => boolean} isKept whether a line is not folded
 * @returns {(PrintedLine | Fold)[]} the lines with runs of others folded; opening brackets stay, because they show the nesting
 */
export function folded(lines, isKept) {
  const shown = [];
  let run = [];
  const end = () => {
    if (run.length >= FOLDED_AT_LEAST) shown.push({ number: run[0].number, folded: run.length });
    else shown.push(...run);
    run = [];
  };
  for (const line of lines) {
    if (isKept(line) || line.text.endsWith("{")) {
      end();
      shown.push(line);
    } else run.push(line);
  }
  end();
  return shown;
}
