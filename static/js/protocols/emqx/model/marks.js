/** Texts for EMQX's faults on time axes. */

/** @type {import("../../../model/marks.js").MarkWords} */
export const MARKS = {
  rows: {
    "node.crashed": (row) => `${row.cluster} crashed`,
    "node.restarted": (row) => `${row.cluster} restarted`,
  },
  planned: {},
};
