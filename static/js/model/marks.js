/** Commands and faults as marks on the time axis: those that happened (from rows) and those the scenario has still planned. */

const WORDS = {
  "cluster.crashed": (row) => `${row.cluster} crashed`,
  "cluster.restarted": (row) => `${row.cluster} restarted`,
  "cluster.lost": (row) => `${row.cluster} lost`,
  "node.crashed": (row) => `${row.cluster} crashed`,
  "node.restarted": (row) => `${row.cluster} restarted`,
  "link.cut": () => "link cut",
  "link.healed": () => "link healed",
  "link.slowed": () => "link slowed",
  "failover.started": (row) => `to ${row.peer}`,
};

/**
 * @param {import("./state.js").LabState} state
 * @param {object[]} rows landmarks of the branch, or what the page has seen of it
 * @returns {{at_us: number, text: string, done: boolean, kind: "fault" | "failover" | "healing", seq?: number}[]} ascending instants
 */
export function marksOf(state, rows = state.rows) {
  const marks = [];
  for (const row of rows) {
    const words = WORDS[row.type];
    if (words) marks.push({ at_us: row.at_us, text: words(row), done: true, kind: kindOf(row.type), seq: row.seq });
  }
  for (const command of state.welcome?.commands ?? []) {
    if (command.at_us > (state.view?.furthest_us ?? state.at_us)) marks.push({ at_us: command.at_us, text: plannedText(command), done: false, kind: kindOf(command.do) });
  }
  return marks.sort((a, b) => a.at_us - b.at_us);
}

/** @returns {"failover" | "healing" | "fault"} */
const kindOf = (name) => (/fail-?over/.test(name) ? "failover" : /restart|heal/.test(name) ? "healing" : "fault");

function plannedText(command) {
  const target = command.arguments ?? command;
  const names = { "cluster.crash": `crash ${target.cluster}`, "subscription.fail-over": `to ${target.to}`, "cluster.restart": `restart ${target.cluster}`, "link.cut": "cut link", "link.heal": "heal link", "link.slow": "slow link" };
  return names[command.do] ?? command.do.replace(/[.-]/g, " ");
}
