/**
 * Shadow topics as a picture needs them: one set of ledgers, and the topics that read it, each with what it sees and where its
 * cursors stand. Indices are the source's log's own. Nothing here draws.
 *
 * @typedef {object} Reader one topic on the ledgers
 * @property {string} name
 * @property {boolean} is_source
 * @property {boolean} loaded
 * @property {number} seen_to index after its last confirmed entry
 * @property {string} last_confirmed as Pulsar prints it
 * @property {number} behind entries of the source that it does not see
 * @property {number} stale_us how long the oldest of them has been there
 * @property {number} saved_bytes
 * @property {number} queued positions that wait for a ledger
 * @property {string | null} unreadable the entry at which a reader waits
 * @property {{cache: number, bookies: number, offload: number, bookie_bytes: number}} reads
 * @property {{state: string, backlog: number} | null} replicator what feeds it; null for a source, and for a shadow without one
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

import { bytes, counted } from "../../../model/format.js";

/** Sources that have shadows, as [cluster, source], in the order of their names. */
export function sourcesOf(state) {
  const found = new Map();
  for (const [cluster, { topics }] of Object.entries(state.view?.clusters ?? {})) {
    for (const { shadow } of Object.values(topics ?? {})) if (shadow && topics[shadow.source]) found.set(`${cluster}/${shadow.source}`, [cluster, shadow.source]);
  }
  return [...found.keys()].sort().map((key) => found.get(key));
}

/** The source that is meant by what is watched: the topic itself, the one whose shadow it is, else the first there is. */
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

/** @returns {number} bytes that copies would store again */
export const savedBytes = (shared) => shared.readers.reduce((total, { saved_bytes }) => total + saved_bytes, 0);

/** @returns {number} entries read, by place */
export const readsInAll = (reader) => reader.reads.cache + reader.reads.bookies + reader.reads.offload;

const ON_THE_WAY_US = 50_000; // a position takes a few milliseconds to arrive, which is not worth a notice

/** Whether a shadow lacks entries whose position should have arrived by now. */
export const isBlind = ({ behind, stale_us }) => behind > 0 && stale_us > ON_THE_WAY_US;

/** What feeds a shadow, in words. */
export function fedBy(reader) {
  if (reader.is_source) return "source";
  if (!reader.loaded) return "not loaded";
  if (!reader.replicator) return "no replicator";
  if (reader.replicator.state === "started") return "replicator connected";
  return `replicator disconnected, backlog ${counted(reader.replicator.backlog, "entry", "entries")}`;
}

/**
 * The page's sentence where shadows are what it is about: who reads the ledgers, and the worst that can be said of one of them.
 * @returns {import("../../../model/sentence.js").Part[] | null}
 */
export function shadowSentence(state, watched) {
  const source = sourcesOf(state).length ? sourceWatched(state, watched) : null;
  const shared = source && sharedLedgers(state, source);
  if (!shared) return null;
  const shadows = shared.readers.filter(({ is_source }) => !is_source);
  const opening = [{ strong: shared.source }, ` and ${counted(shadows.length, "shadow")} share one set of ledgers. `];
  const lostOf = (reader) => reader.cursors.reduce((total, { lost }) => total + lost, 0);
  const worst = shadows.reduce((one, other) => (lostOf(other) > lostOf(one) ? other : one));
  if (lostOf(worst)) return [...opening, `Lost for ${worst.name}: `, { harm: counted(lostOf(worst), "message") }, "."];
  const blindest = shadows.reduce((one, other) => (other.stale_us > one.stale_us ? other : one));
  if (isBlind(blindest)) return [...opening, `Not visible in ${blindest.name}: `, { harm: counted(blindest.behind, "entry", "entries") }, "."];
  return [...opening, { soft: `${bytes(savedBytes(shared))} saved.` }];
}
