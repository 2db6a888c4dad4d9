/** Texts for EMQX's faults on time axes. */

/** @type {import("../../../model/marks.js").MarkWords} */
export const MARKS = {
  rows: {
    "node.crashed": (row) => `${row.cluster} crashed`,
    "leader.ended": (row) => (row.reason === "crashed" ? `leader ${row.count} crashed` : ""),
    "node.restarted": (row) => `${row.cluster} restarted`,
  },
  planned: {},
};
