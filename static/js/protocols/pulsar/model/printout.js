/**
 * What an operator's tool printed, as lines to show: the line, what other clusters print there, what the lab knows about it.
 * Runs of lines that say nothing special may be folded.
 */

/** Shorter runs are shown: a fold would save no room. */
const FOLDED_AT_LEAST = 3;

/**
 * @typedef {{number: number, text: string, note: string, elsewhere: [string, string][]}} PrintedLine lines count from 0
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

/** What may be shown: by name, which lines are not folded. */
export const VIEWS = {
  noted: (line) => line.note !== "",
  different: (line) => line.note !== "" || line.elsewhere.length > 0,
  every: () => true,
};

/**
 * @param {PrintedLine[]} lines
 * @param {(line: PrintedLine) => boolean} tells lines that stay
 * @returns {(PrintedLine | Fold)[]} the same with runs of others folded; brackets that open stay, for they say where one is
 */
export function folded(lines, tells) {
  const shown = [];
  let run = [];
  const end = () => {
    if (run.length >= FOLDED_AT_LEAST) shown.push({ number: run[0].number, folded: run.length });
    else shown.push(...run);
    run = [];
  };
  for (const line of lines) {
    if (tells(line) || line.text.endsWith("{")) {
      end();
      shown.push(line);
    } else run.push(line);
  }
  end();
  return shown;
}
