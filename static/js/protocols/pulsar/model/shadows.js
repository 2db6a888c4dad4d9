/**
 * Shadow topics for the picture: one set of ledgers and the topics that read it, with their positions and cursors.
 * Indices are those of the source's log. Nothing is drawn here.
 *
 * @typedef {object} Reader one topic on the ledgers
 * @property {string} name
 * @property {boolean} is_source
 * @property {boolean} loaded
 * @property {number} seen_to index after its last confirmed entry
 * @property {string} last_confirmed as Pulsar prints it
 * @property {number} behind number of the source's entries that are not visible in it
 * @property {number} stale_us age of the oldest of them
 * @property {number} saved_bytes
 * @property {number} queued number of positions that wait for a ledger
 * @property {string | null} unreadable the entry that a reader waits for
 * @property {{cache: number, bookies: number, offload: number, bookie_bytes: number}} reads
 * @property {{state: string, backlog: number} | null} replicator the one that feeds it; null for a source, and for a shadow topic without one
 * @property {Cursor[]} cursors
 *
 * @typedef {object} Cursor
 * @property {string} name
 * @property {number} mark index after its mark-delete
 * @property {[number, number][]} ranges individually deleted, first and last
 * @property {number} backlog
 * @property {number} lost
 *
 * @typedef {object} Shared
 * @property {string} cluster
 * @property {string} source
 * @property {number} first_kept entries before it were deleted
 * @property {number} to index after the source's last entry
 * @property {{id: number, first: number, end: number, open: boolean}[]} ledgers
 * @property {Reader[]} readers the source first
 */

import { bytes, counted, span } from "../../../model/format.js";

/** Sources with shadow topics, as [cluster, source], sorted by name. */
export function sourcesOf(state) {
  const found = new Map();
  for (const [cluster, { topics }] of Object.entries(state.view?.clusters ?? {})) {
    for (const { shadow } of Object.values(topics ?? {})) if (shadow && topics[shadow.source]) found.set(`${cluster}/${shadow.source}`, [cluster, shadow.source]);
  }
  return [...found.keys()].sort().map((key) => found.get(key));
}

/** The source to show: the watched topic itself, the source of the watched shadow topic, or else the first one. */
export function sourceWatched(state, watched) {
  const sources = sourcesOf(state);
  const is = (name) => sources.find(([, source]) => source === name);
  for (const cluster of watched?.clusters ?? []) {
    const source = state.view.clusters[cluster]?.topics?.[watched.topic]?.shadow?.source;
    if (source && is(source)) return is(source);
  }
  return is(watched?.topic) ?? sources[0] ?? null;
}

/** @returns {Shared | null} */
export function sharedLedgers(state, [cluster, source]) {
  const topics = state.view.clusters[cluster]?.topics ?? {};
  const owner = topics[source];
  if (!owner) return null;
  const shadows = Object.entries(topics).filter(([, topic]) => topic.shadow?.source === source);
  const readers = [readerOf(source, owner, shadows[0]?.[1].shadow.source_reads), ...shadows.map(([name, topic]) => readerOf(name, topic, topic.shadow.reads))];
  const ledgers = owner.ledgers.map(([id, first, entries], place) => ({ id, first, end: first + entries, open: place === owner.ledgers.length - 1 }));
  return { cluster, source, first_kept: owner.first_kept, to: owner.length, ledgers, readers };
}

function readerOf(name, topic, reads) {
  const { shadow } = topic;
  return {
    name,
    is_source: !shadow,
    loaded: shadow ? shadow.loaded : true,
    seen_to: topic.length,
    last_confirmed: topic.last_position,
    behind: shadow?.behind_entries ?? 0,
    stale_us: shadow?.stale_us ?? 0,
    saved_bytes: shadow?.saved_bytes ?? 0,
    queued: shadow?.queued_adds ?? 0,
    unreadable: shadow?.unreadable ?? null,
    reads: reads ?? { cache: 0, bookies: 0, offload: 0, bookie_bytes: 0 },
    replicator: shadow?.replicator ?? null,
    cursors: Object.entries(topic.subscriptions ?? {}).map(([cursor, one]) => ({
      name: cursor,
      mark: one.mark_delete_index + 1,
      ranges: one.ranges,
      backlog: one.backlog,
      lost: shadow?.lost?.[cursor] ?? 0,
    })),
  };
}

/** @returns {number} bytes that copies of the entries would take */
export const savedBytes = (shared) => shared.readers.reduce((total, { saved_bytes }) => total + saved_bytes, 0);

/** @returns {number} number of entries read, from all places */
export const readsInAll = (reader) => reader.reads.cache + reader.reads.bookies + reader.reads.offload;

const ON_THE_WAY_US = 50_000; // a position takes a few milliseconds to arrive, which is not reported

/** Whether a shadow topic lacks entries whose position should have arrived. */
export const isBlind = ({ behind, stale_us }) => behind > 0 && stale_us > ON_THE_WAY_US;

/** The replicator's state of a shadow topic, as text. */
export function fedBy(reader) {
  if (reader.is_source) return "source";
  if (!reader.loaded) return "not loaded";
  if (!reader.replicator) return "no replicator";
  if (reader.replicator.state === "started") return "replicator connected";
  return `replicator disconnected, backlog ${counted(reader.replicator.backlog, "entry", "entries")}`;
}

/**
 * The headline of a lab with shadow topics: the bytes saved, and the worst problem of one of them, a loss or its lag.
 * @returns {import("../../../render/sentence.js").Part[] | null}
 */
export function shadowSentence(state, watched) {
  const source = sourcesOf(state).length ? sourceWatched(state, watched) : null;
  const shared = source && sharedLedgers(state, source);
  if (!shared) return null;
  const shadows = shared.readers.filter(({ is_source }) => !is_source);
  const saved = bytes(savedBytes(shared));
  const opening = [{ strong: shared.source }, ` and ${counted(shadows.length, "shadow topic")} share one set of ledgers: ${saved} saved. `];
  const lostOf = (reader) => reader.cursors.reduce((total, { lost }) => total + lost, 0);
  const worst = shadows.reduce((one, other) => (lostOf(other) > lostOf(one) ? other : one));
  if (lostOf(worst)) return [...opening, `Lost for ${worst.name}: `, { harm: counted(lostOf(worst), "message") }, "."];
  const most_stale = shadows.reduce((one, other) => (other.stale_us > one.stale_us ? other : one));
  if (isBlind(most_stale)) return [...opening, `${most_stale.name} lags by `, { harm: counted(most_stale.behind, "entry", "entries") }, `, ${span(most_stale.stale_us)}.`];
  return [...opening, { soft: shadows.length === 1 ? "It does not lag." : "None of them lags." }];
}
