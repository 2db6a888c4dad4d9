/** Texts for Pulsar's faults and failovers on time axes. */

/** @type {import("../../../model/marks.js").MarkWords} */
export const MARKS = {
  rows: {
    "cluster.crashed": (row) => `${row.cluster} crashed`,
    "cluster.restarted": (row) => `${row.cluster} restarted`,
    "cluster.lost": (row) => `${row.cluster} lost`,
    "failover.started": (row) => `to ${row.peer}`,
  },
  planned: {
    "cluster.crash": ({ cluster }) => `crash ${cluster}`,
    "cluster.restart": ({ cluster }) => `restart ${cluster}`,
    "link.partition": () => "partition link",
    "subscription.fail-over": ({ to }) => `to ${to}`,
  },
};

/** @returns {"completed" | "failed" | null} how the row ends a snapshot; null for other rows */
export const snapshotEnd = (row) => ({ "snapshot.completed": "completed", "snapshot.timed-out": "failed", "snapshot.abandoned": "failed" })[row.type] ?? null;
