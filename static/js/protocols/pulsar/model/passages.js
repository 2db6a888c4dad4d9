/**
 * The markers that the space-time diagram draws in one window of time, with their hops and snapshots.
 * The server is asked once per window and answers with rows or, if there are too many, with counts. During playback the newest ones are
 * folded from frames. When playback is paused only the answer is drawn, because frames leave out rows in fast playback. A run so short that
 * every page holds all of its rows needs no answer.
 */

import { foldMarkers, noMarkers } from "./markers.js";
import { foldSnapshots, noSnapshots } from "./snapshots.js";
import { makeWindows } from "../../../model/windows.js";

/** If a window has more markers than this, they are counted instead of drawn one by one, on the page as on the server. */
const LISTED = 700;
/** Number of parts of a window with counts, here and on the server. */
export const BINS = 160;
/**
 * @typedef {object} Passages
 * @property {import("./markers.js").Marker[]} markers of the topic in the window
 * @property {import("./snapshots.js").Snapshot[]} snapshots of the topic
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
