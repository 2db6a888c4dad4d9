/** Turns commands and faults into marks on the time axis: those that happened (from rows) and those still planned. */

/**
 * @typedef {object} MarkWords a protocol's texts for its marks
 * @property {Object<string, (row: object) => string>} rows by event type
 * @property {Object<string, (named: object) => string>} planned by command, from its arguments
 */

const LINK_ROWS = { "link.cut": () => "link cut", "link.healed": () => "link healed", "link.slowed": () => "link slowed" };
const LINK_PLANNED = { "link.cut": () => "cut link", "link.heal": () => "heal link", "link.slow": () => "slow link" };

/**
 * @param {import("./state.js").LabState} state
 * @param {object[]} rows landmarks of the branch, or the rows that the page holds
 * @param {MarkWords} words of the lab's protocol
 * @returns {{at_us: number, text: string, done: boolean, kind: "fault" | "failover" | "healing", seq?: number}[]} by ascending instant
 */
export function marksOf(state, rows, words) {
  const [happened, planned] = [{ ...LINK_ROWS, ...words.rows }, { ...LINK_PLANNED, ...words.planned }];
  const marks = [];
  for (const row of rows) {
    const text = happened[row.type]?.(row);
    if (text) marks.push({ at_us: row.at_us, text, done: true, kind: kindOf(row.type), seq: row.seq });
  }
  for (const command of state.welcome?.commands ?? []) {
    if (command.at_us <= (state.view?.furthest_us ?? state.at_us)) continue;
    const text = planned[command.do]?.(command.arguments ?? command) ?? command.do.replace(/[.-]/g, " ");
    marks.push({ at_us: command.at_us, text, done: false, kind: kindOf(command.do) });
  }
  return marks.sort((a, b) => a.at_us - b.at_us);
}

/** @param {string} name of an event type or command @returns {"failover" | "healing" | "fault"} */
export const kindOf = (name) => (/fail-?over/.test(name) ? "failover" : /restart|heal/.test(name) ? "healing" : "fault");
