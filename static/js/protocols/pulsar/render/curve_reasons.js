/** Draws the reasons on the curve of duplicates: few labels, each with a line to its instant, none over another. */

import { counted, whole } from "../../../model/format.js";
import { fullName, shortName } from "../model/snapshot_names.js";
import { topicView } from "../model/topics.js";
import { drawLabels, makeMeasure, placeLabels } from "../../../render/labels.js";
import { markAs } from "../../../render/marks.js";

/** Most labels on one curve. */
const MOST = 4;

/**
 * Where the labels stand: those of drops right of the drop, the others above the curve. A label without room beside the curve is left out.
 * @param {Reason[]} reasons in order of importance
 * @param {object} given xAt, yAt (of a value), x0, x1, top and bottom of the plot, line (height of a label), measure, curve (boxes of the curve)
 * @returns {{x: number, y: number, width: number, height: number, label: any}[]}
 */
export function placeReasons(reasons, { xAt, yAt, x0, x1, top, bottom, line, measure, curve, taken }) {
  const shown = reasons.filter(({ at_us }) => xAt(at_us) >= x0 && xAt(at_us) <= x1);
  const requests = shown.map((reason) => {
    const x = xAt(reason.at_us);
    const heights = reason.kind === "applied" ? [(yAt(reason.from) + yAt(reason.to)) / 2 - line / 2, yAt(reason.to) - line - 2, top] : [top, top + line];
    const forms = formsOf(reason).map((runs) => {
      const width = measure(runs);
      const places = heights.flatMap((y) => [x + 5, x - width - 5].map((left) => ({ x: left, y: Math.min(bottom - line, Math.max(top, y)) }))).filter((place) => place.x >= x0 && place.x + width <= x1);
      return { width, label: Object.assign(runs, { reason }), places };
    });
    return { priority: reason.kind === "applied" ? 1 : 0, height: line, forms };
  });
  return placeLabels(requests, { width: x1, height: bottom }, [...taken, ...curve], 2).slice(0, MOST);
}

/**
 * A reason as runs, long and short: a low plot has room for the short one only.
 * @param {Reason} reason
 */
function formsOf({ strong, text, short }) {
  const runs = (name, rest) => [{ text: name, weight: 650, colour: "harm" }, { text: rest, weight: 400, colour: "harm" }];
  return short === undefined ? [runs(strong, text)] : [runs(strong, text), runs(short, "")];
}

/** @param {any} given as in `placeReasons`, with the theme's measure left out */
export function paintReasons(context, theme, reasons, given) {
  if (reasons.length === 0) return;
  const measure = makeMeasure(context, theme);
  const placed = placeReasons(reasons, { ...given, line: Math.round(theme.label * 1.25), measure });
  markAs(context, "time-reason");
  context.fillStyle = theme.ink.harm;
  for (const { y, height, label } of placed) {
    const { reason } = label;
    const foot = given.yAt(reason.to);
    if (reason.kind !== "applied") context.fillRect(given.xAt(reason.at_us) - 0.5, y, 1, Math.max(height, foot - y));
  }
  drawLabels(context, placed, theme, measure);
}

/**
 * Why the curve of duplicates fell, or did not: the updates that the target applied, snapshots that wait for the mark-delete, and snapshots
 * that failed. Everything is read from the markers and snapshots of the trace, as of the instant shown.
 */

/**
 * @typedef {object} Reason
 * @property {number} at_us
 * @property {string} strong the name of the snapshot
 * @property {string} text what follows the name
 * @property {string} [short] both in few letters
 * @property {number} from value of the curve before
 * @property {number} to value of the curve from then on
 * @property {"applied" | "waiting" | "failed"} kind
 */

/**
 * @param {any} state
 * @param {any} watched
 * @param {{points: import("../../../model/forecast.js").Point[], markers: import("../model/snapshots.js").Marker[], snapshots: import("../model/snapshots.js").Snapshot[]}} given of the window
 * @returns {Reason[]} waiting and failed snapshots first, then the newest
 */
export function curveReasons(state, watched, { points, markers, snapshots }) {
  if (!watched.target || !watched.subscription) return [];
  const values = valuesOf(points, watched);
  if (values.length < 2) return [];
  const own = snapshots.filter(({ cluster, asked_us }) => cluster === watched.subject && asked_us <= state.at_us);
  const reasons = [...waiting(state, watched, own), ...failed(state, watched, own), ...applied(state, watched, markers, values)];
  return reasons.map((reason) => /** @type {Reason} */ ({ ...levelsAt(values, reason.at_us), ...reason }));
}

/** The target's values of the curve: [instant, duplicates]. */
function valuesOf(points, { subscription, target }) {
  const values = [];
  for (const [at_us, of] of points) if (of[subscription]?.[target] !== undefined) values.push([at_us, of[subscription][target]]);
  return values;
}

/** The curve before an instant and from it on. */
function levelsAt(values, at_us) {
  const after = values.findLastIndex(([us]) => us <= at_us);
  const before = values.findLastIndex(([us]) => us < at_us);
  return { from: values[Math.max(0, before)][1], to: values[Math.max(0, after)][1] };
}

/** Updates that the target stored, each with a drop of the curve at that instant. */
function applied(state, { subscription, target, topic, subject }, markers, values) {
  const found = [];
  for (const { kind, cluster, snapshot, subscription: of, topic: log, hops } of markers) {
    if (kind !== "subscription_update" || of !== subscription || log !== topic || snapshot === null) continue;
    const at_us = hops.find((hop) => hop.to === target && hop.lost_us === null)?.stored_us ?? null;
    if (at_us === null || at_us > state.at_us || !values.some(([us]) => us === at_us)) continue;
    const { from, to } = levelsAt(values, at_us);
    if (from <= to) continue;
    const strong = cluster === subject ? shortName(state, snapshot) : fullName(state, snapshot);
    found.push({ at_us, kind: "applied", strong, text: ` applied, −${whole(from - to)}`, short: `${strong}, −${whole(from - to)}` });
  }
  return found.sort((a, b) => b.at_us - a.at_us);
}

/** Snapshots in the cache now: what keeps the mark-delete before their position. */
function waiting(state, watched, snapshots) {
  const log = topicView(state, watched.subject, watched.topic);
  const cursor = log?.subscriptions?.[watched.subscription];
  const newest = cursor?.cache?.at(-1);
  const since = newest && snapshots.find(({ number }) => number === newest.snapshot)?.kept[watched.subscription];
  if (!since || since.state !== "cached" || newest.index <= cursor.mark_delete_index) return [];
  return [{ at_us: since.at_us, kind: "waiting", strong: shortName(state, newest.snapshot), text: ` ready, ${obstacle(state, watched, cursor, newest.index)}` }];
}

/** Names the message that blocks the mark-delete if it is the only one, else the number of such messages. */
function obstacle(state, watched, cursor, index) {
  const unacked = unackedBetween(state.cells[`${watched.subject}/${watched.topic}`], cursor, index);
  if (unacked === null) return `mark-delete ${counted(index - cursor.mark_delete_index, "entry", "entries")} short of it`;
  if (unacked.length === 1) return `${nameOf(state, watched, unacked[0])} blocks it`;
  return `${counted(unacked.length, "message")} before it not acked`;
}

/** Places in the store of the messages after the mark-delete, up to an entry, that are not acked; null if the page does not hold all. */
function unackedBetween(store, cursor, index) {
  const from = cursor.mark_delete_index + 1;
  if (!store || from < store.first || index >= store.first + store.count) return null;
  const found = [];
  for (let at = from - store.first; at <= index - store.first; at++) {
    if (store.columns.kind[at] < 100 && !cursor.ranges.some(([first, last]) => first <= at + store.first && at + store.first <= last)) found.push(at);
  }
  return found.length ? found : null;
}

function nameOf(state, { subject, topic }, at) {
  const { columns } = state.cells[`${subject}/${topic}`];
  return `${state.names.list[columns.producer[at]]}/${columns.number[at]}`;
}

/** Snapshots that ended without a chance of being used, the newest. */
function failed(state, { subscription }, snapshots) {
  const found = [];
  for (const one of snapshots) {
    const kept = one.kept[subscription];
    const strong = shortName(state, one.number);
    if (one.ended_us !== null && one.ended_us <= state.at_us && one.state === "timed-out") found.push({ at_us: one.ended_us, kind: "failed", strong, text: " timed out" });
    else if (kept?.state === "evicted" && kept.reason === "cache-rule" && kept.at_us <= state.at_us) found.push({ at_us: kept.at_us, kind: "failed", strong, text: " evicted unused" });
  }
  return found.sort((a, b) => b.at_us - a.at_us).slice(0, 1);
}
