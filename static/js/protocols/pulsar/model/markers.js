/**
 * The journey of each marker, folded from control rows: written here, sent there, stored, lost. The space-time diagram
 * draws these and nothing else.
 */

const MARKERS_KEPT = 900;

/**
 * @typedef {object} Hop
 * @property {string} to
 * @property {number} sent_us
 * @property {number | null} stored_us null while on the wire
 * @property {number | null} lost_us
 * @property {boolean} delayed by a command
 */
/**
 * @typedef {object} Marker
 * @property {number} number
 * @property {string} kind snapshot_request, snapshot_response, snapshot, subscription_update
 * @property {string} cluster who wrote it
 * @property {string} topic
 * @property {number | null} snapshot
 * @property {string | null} subscription
 * @property {number} written_us
 * @property {Hop[]} hops
 * @property {boolean} partial this page saw it arrive and not being written
 * @property {number} [round] of a snapshot that takes two
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
 * @param {object[]} rows rows not folded before
 * @param {number} most markers kept, the newest
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
  // a page that joins late sees a marker arrive whose writing it did not see: its writer is the sender
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
