/**
 * Folds control rows to the state of each snapshot: requested, answered, completed, cached, used, timed out.
 * Rules: a fold is a value, copied when a row changes it; the newest SNAPSHOTS_KEPT are held.
 */

import { makeWindows } from "../../../model/windows.js";
import { topicView } from "./topics.js";

export const SNAPSHOTS_KEPT = 120;

/**
 * @typedef {object} Snapshot
 * @property {number} number from 1 in the run
 * @property {string} cluster that requested it
 * @property {string} topic
 * @property {"pending" | "completed" | "timed-out" | "abandoned"} state
 * @property {number | null} asked_us
 * @property {number | null} ended_us completed, timed out or abandoned
 * @property {number} round 1 or 2
 * @property {number | null} second_us when the second round was requested
 * @property {{ledger: number, entry: number} | null} local position in `cluster`'s own log, once completed
 * @property {Object<string, {ledger: number, entry: number}>} positions by peer: the responses so far, or the final ones
 * @property {Object<string, {state: "cached" | "used" | "evicted", reason?: string, at_us: number}>} kept by subscription
 */

/** @returns {Map<number, Snapshot>} */
export const noSnapshots = () => new Map();

const FOLDS = {
  "snapshot.requested": (row, old) => ({ ...old, asked_us: row.count === 2 ? old.asked_us : row.at_us, round: row.count ?? 1, second_us: row.count === 2 ? row.at_us : old.second_us, state: "pending" }),
  "snapshot.answered": (row, old) => ({ ...old, positions: { ...old.positions, [row.peer]: { ledger: row.to_ledger, entry: row.to_entry } } }),
  "snapshot.completed": (row, old) => ({
    ...old,
    state: "completed",
    ended_us: row.at_us,
    asked_us: row.duration_us === undefined ? old.asked_us : row.at_us - row.duration_us, // computed from the duration, since rows before this one may not be held
    local: { ledger: row.ledger, entry: row.entry },
    partial: row.reason === "partial",
  }),
  "snapshot.position": (row, old) => ({ ...old, positions: { ...old.positions, [row.peer]: { ledger: row.to_ledger, entry: row.to_entry } } }),
  "snapshot.timed-out": (row, old) => ({ ...old, state: "timed-out", ended_us: row.at_us }),
  "snapshot.abandoned": (row, old) => ({ ...old, state: "abandoned", ended_us: row.at_us }),
  "snapshot.cached": (row, old) => keeping(row, old, "cached"),
  "snapshot.used": (row, old) => keeping(row, old, "used"),
  "snapshot.evicted": (row, old) => (old.kept[row.subscription]?.state === "used" ? old : keeping(row, old, "evicted")),
};

function keeping(row, old, state) {
  return { ...old, kept: { ...old.kept, [row.subscription]: { state, reason: row.reason, at_us: row.at_us } } };
}

/**
 * @param {Map<number, Snapshot>} snapshots
 * @param {object[]} rows rows not folded before
 * @returns {Map<number, Snapshot>}
 */
export function foldSnapshots(snapshots, rows) {
  let next = snapshots;
  for (const row of rows) {
    const fold = FOLDS[row.type];
    if (!fold || row.snapshot === undefined) continue;
    if (next === snapshots) next = new Map(snapshots);
    const old = next.get(row.snapshot) ?? fresh(row);
    next.set(row.snapshot, fold(row, old));
  }
  if (next.size > SNAPSHOTS_KEPT) {
    for (const number of [...next.keys()].sort((a, b) => a - b).slice(0, next.size - SNAPSHOTS_KEPT)) next.delete(number);
  }
  return next;
}

function fresh(row) {
  return {
    number: row.snapshot,
    cluster: row.cluster,
    topic: row.topic,
    state: "pending",
    asked_us: null,
    ended_us: null,
    round: 1,
    second_us: null,
    local: null,
    positions: {},
    kept: {},
    partial: false,
  };
}

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

const MARKER_FOLDS = {
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
    const fold = MARKER_FOLDS[row.type];
    if (!fold || row.marker === undefined) continue;
    if (next === markers) next = new Map(markers);
    const old = next.get(row.marker) ?? freshMarker(row);
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

function freshMarker(row) {
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

/**
 * The markers that the space-time diagram draws in one window of time, with their hops and snapshots.
 * The server is asked once per window and answers with rows or, if there are too many, with counts. During playback the newest ones are
 * folded from frames. When playback is paused only the answer is drawn, because frames leave out rows in fast playback. A run so short that
 * every page holds all of its rows needs no answer.
 */

/** If a window has more markers than this, they are counted instead of drawn one by one, on the page as on the server. */
const LISTED = 700;
/** Number of parts of a window with counts, here and on the server. */
export const BINS = 160;
/**
 * @typedef {object} Passages
 * @property {Marker[]} markers of the topic in the window
 * @property {Snapshot[]} snapshots of the topic
 * @property {{width_us: number, counts: object, lost: object} | null} bins instead of markers
 * @property {number} from_us start of the bins
 * @property {number} count number of rows in the window on the server, 0 when it was not asked
 * @property {boolean} waiting whether an answer is awaited
 */

/**
 * @param {object} parts
 * @param {(path: string) => Promise<object>} parts.get
 * @param {string} parts.base path of the lab, ending in "/"
 * @param {() => void} parts.onAnswer
 */
export function makePassages({ get, base, onAnswer }) {
  const windows = makeWindows({
    get,
    address: (from_us, to_us) => `${base}passages.json?from_us=${from_us}&to_us=${to_us}`,
    take: ({ rows = [] }) => ({ markers: foldMarkers(noMarkers(), rows, Infinity), snapshots: foldSnapshots(noSnapshots(), rows) }),
    onAnswer,
  });

  return {
    version: windows.version,
    /** @returns {Passages} */
    in(state, topic, window, wall_ms) {
      const end_us = window.start_us + window.span_us;
      const known_from_us = state.rows[0]?.at_us ?? Infinity;
      const from_start = state.rows[0]?.seq === 0;
      const frames_do = from_start || (state.playing && window.start_us >= known_from_us);
      const here = windows.covers(state, window, state.playing ? Math.min(end_us, known_from_us) : end_us);
      if (!frames_do && !here) windows.ask(state, window, wall_ms);
      const older = frames_do ? null : windows.held(state);
      const answer_alone = !frames_do && here && !state.playing && older !== null;
      if (older?.bins) return { markers: [], snapshots: ofTopic(state.snapshots, topic), bins: older.bins, from_us: older.from_us, count: older.count, waiting: !here };
      const markers = inWindow(answer_alone ? older.markers : merged(older?.markers, state.markers), topic, window.start_us, end_us);
      const bins = markers.length > LISTED ? binned(markers, window) : null;
      return { markers: bins ? [] : withRounds(markers, state.snapshots, older?.snapshots), snapshots: ofTopic(new Map([...(older?.snapshots ?? []), ...state.snapshots]), topic), bins, from_us: window.start_us, count: older?.count ?? 0, waiting: !frames_do && !here };
    },
  };
}

/** Of two versions of a marker the more complete one: the server's answer replaces one of which the page has only some rows. */
const merged = (older, newer) => (older ? new Map([...older, ...[...newer].filter(([number, one]) => !(one.partial && older.has(number)))]) : newer);

const ofTopic = (snapshots, topic) => [...snapshots.values()].filter((one) => one.topic === topic && one.asked_us !== null);

function inWindow(markers, topic, start_us, end_us) {
  const found = [];
  for (const marker of markers.values()) {
    if (marker.topic !== topic || marker.written_us > end_us) continue;
    const last_us = marker.hops.reduce((latest, hop) => Math.max(latest, hop.stored_us ?? hop.lost_us ?? end_us), marker.written_us);
    if (last_us >= start_us) found.push(marker);
  }
  return found;
}

/** Sets the round: a request or response belongs to the second round if its snapshot had started it by then. */
function withRounds(markers, ...folds) {
  return markers.map((marker) => {
    const second_us = folds.map((fold) => fold?.get(marker.snapshot)?.second_us).find((us) => us !== undefined && us !== null);
    const of_request = marker.kind === "snapshot_request" || marker.kind === "snapshot_response";
    return { ...marker, round: of_request && second_us !== undefined && marker.written_us >= second_us ? 2 : 1 };
  });
}

/** Counts as the server's, computed from the rows of the frames. */
export function binned(markers, window, parts = BINS) {
  const width_us = Math.max(1, Math.ceil(window.span_us / parts));
  const counts = {};
  const lost = {};
  const add = (into, at_us) => {
    const bin = Math.floor((at_us - window.start_us) / width_us);
    if (bin >= 0 && bin < parts) into[bin] += 1;
  };
  for (const marker of markers) {
    for (const hop of marker.hops) {
      const link = `${marker.cluster} -> ${hop.to}`;
      add(((counts[link] ??= {})[marker.kind] ??= new Array(parts).fill(0)), hop.sent_us ?? marker.written_us);
      if (hop.lost_us !== null) add((lost[link] ??= new Array(parts).fill(0)), hop.lost_us);
    }
  }
  return { width_us, counts, lost };
}

/** Finds the cluster whose snapshot a marker of the diagram belongs to. */

/** @returns {string} cluster name */
export function markerCluster(state, marker) {
  if (marker.kind === "snapshot_response" && marker.snapshot !== null) {
    return state.snapshots.get(marker.snapshot)?.cluster ?? marker.to ?? marker.hops[0]?.to ?? marker.cluster;
  }
  return marker.cluster;
}

/** The period of a topic's snapshots, which sets the span of the time diagram. */

/** Pulsar's default, for topics without a snapshot controller, us. */
const DEFAULT_US = 1_000_000;

/** @returns {number} the longest period among the watched topic's snapshot controllers, us */
export function snapshotPeriod(state, { lanes, topic }) {
  const periods = lanes.map((cluster) => topicView(state, cluster, topic)?.controller?.period_us ?? 0);
  return Math.max(...periods) || DEFAULT_US;
}
