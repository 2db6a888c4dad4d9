/**
 * Folds control rows to the path of each marker: where it was written, sent, stored and lost.
 * The space-time diagram draws these markers and nothing else.
 */

const MARKERS_KEPT = 900;

/**
 * @typedef {object} Hop
 * @property {string} to
 * @property {number} sent_us
 * @property {number | null} stored_us null while in flight
 * @property {number | null} lost_us
 * @property {boolean} delayed by a command
 */
/**
 * @typedef {object} Marker
 * @property {number} number
 * @property {string} kind snapshot_request, snapshot_response, snapshot, subscription_update
 * @property {string} cluster that wrote it
 * @property {string} topic
 * @property {number | null} snapshot
 * @property {string | null} subscription
 * @property {number} written_us
 * @property {Hop[]} hops
 * @property {boolean} partial whether this page has a row of its arrival and none of its writing
 * @property {number} [round] 2 for the second round of a snapshot, else 1
 */

/** @returns {Map<number, Marker>} */
export const noMarkers = () => new Map();

const FOLDS = {
  "marker.written": (row) => ({ written_us: row.at_us, cluster: row.cluster, to: row.peer ?? null }),
  "marker.sent": (row, old) => withHop(old, row.peer, (hop) => ({ ...hop, sent_us: row.at_us })),
  "marker.stored": (row, old) => withHop(old, row.cluster, (hop) => ({ ...hop, stored_us: row.at_us })),
  "marker.lost": (row, old) => withHop(old, row.peer, (hop) => ({ ...hop, lost_us: row.at_us })),
  "marker.delayed": (row, old) => withHop(old, row.peer, (hop) => ({ ...hop, delayed: true })),
  "marker.dropped": (row, old) => withHop(old, row.peer, (hop) => ({ ...hop, lost_us: row.at_us })),
};

function withHop(old, to, change) {
  const at = old.hops.findLastIndex((hop) => hop.to === to && hop.stored_us === null && hop.lost_us === null);
  const hop = at < 0 ? { to, sent_us: null, stored_us: null, lost_us: null, delayed: false } : old.hops[at];
  const hops = at < 0 ? [...old.hops, change(hop)] : old.hops.with(at, change(hop));
  return { hops };
}

/**
 * @param {Map<number, Marker>} markers
 * @param {object[]} rows rows that were not folded before
 * @param {number} most number of markers kept, the newest
 */
export function foldMarkers(markers, rows, most = MARKERS_KEPT) {
  let next = markers;
  for (const row of rows) {
    const fold = FOLDS[row.type];
    if (!fold || row.marker === undefined) continue;
    if (next === markers) next = new Map(markers);
    const old = next.get(row.marker) ?? fresh(row);
    next.set(row.marker, { ...old, ...fold(row, old) });
  }
  if (next.size > most) {
    const surplus = next.size - most;
    let dropped = 0;
    for (const number of next.keys()) {
      if (dropped++ >= surplus) break;
      next.delete(number);
    }
  }
  return next;
}

function fresh(row) {
  // a page that joins late has no row of the marker's writing: it takes the sender as the writer
  const writer = row.type === "marker.stored" ? row.peer : row.cluster;
  return {
    number: row.marker,
    kind: row.reason,
    cluster: writer,
    to: null,
    topic: row.topic,
    snapshot: row.snapshot ?? null,
    subscription: row.subscription ?? null,
    written_us: row.at_us,
    hops: [],
    partial: row.type !== "marker.written",
  };
}
