/**
 * Collects the labels beside the marks of the lanes as requests for placement: text, priority and possible places.
 * In landscape, labels are above and below a strip; on the turned plane they are left of it.
 */

import { shortName } from "../model/snapshot_names.js";
import { farEdge, nearEdge } from "../layout/strip.js";
import { PRIORITY } from "../../../render/labels.js";
import { WAYS } from "../layout/label_ways.js";
import { WORDS_PX, xOf, yOf } from "../../../layout/plane.js";
import { gapsOf } from "../model/acknowledged.js";
import { span, whole } from "../../../model/format.js";
import { beginKey } from "../model/begins.js";
import { ACKED, CAUSE_WORDS, LOST, NOT_REPLICATED, UNACKED } from "../model/entry_flags.js";
import { bordersOf } from "./ledgers.js";
import { pointsOf } from "./threads.js";

/** More ranges than this are not printed completely. */
const RANGES_PRINTED = 6;

/** @typedef {import("../../../render/labels.js").Run} Run */

const THREAD_WORDS = { applied: "applied", used: "used, update in flight", ready: "cached, not usable yet", finished: "completed, not cached yet", building: "pending", "timed-out": "timed out", evicted: "evicted" };

/**
 * @param {import("../layout/scene.js").Scene} scene
 * @param {import("../../../model/state.js").LabState & import("../model/folds.js").PulsarState} state
 * @param {(runs: Run[]) => number} measure width of a label, px
 * @param {number} line height of a label, px
 * @param {import("./lanes.js").Prediction | null} prediction
 * @returns {(import("../../../render/labels.js").LabelRequest & {of: string})[]} with runs as labels; of: the lane
 */
export function labelRequests(scene, state, measure, line, prediction) {
  const requests = [];
  let of = ""; // the lane
  const ask = (priority, runs, anchor, ways, shorter = []) => {
    const forms = [runs, ...shorter].map((label) => {
      const width = measure(label);
      return { width, label, places: ways.map((way) => WAYS[way](anchor, width, line)) };
    });
    requests.push({ priority, height: line, forms, of });
  };
  if (prediction) askPrediction(scene, prediction, ask); // the first of its priority
  scene.plane.lanes.forEach((lane) => {
    of = lane.name;
    askCursor(scene, lane, ask);
    askHoles(scene, state, lane, ask);
    askCauses(scene, state, lane, ask);
    requestNotReplicated(scene, state, lane, ask);
    askLedgers(scene, lane, ask);
  });
  of = "";
  for (const thread of scene.threads) askThread(scene, state, thread, ask);
  askWash(scene, ask);
  return requests;
}

const anchorAt = (plane, lane, along, offset) => ({ x: xOf(plane, lane, along, offset), y: yOf(plane, lane, along, offset) });

/** Labels the position that the viewer predicts. */
function askPrediction({ plane, lanes }, { cluster, index }, ask) {
  const lane = plane.lanes.find(({ name }) => name === cluster);
  if (!lane || index === null) return;
  const along = farEdge(lanes[lane.name].strip, index);
  if (along < plane.a0 - 1) return;
  const anchor = anchorAt(plane, lane, along, plane.turned ? plane.cell + 16 : -plane.lift - 7 * plane.scale);
  ask(PRIORITY.hole, [{ text: "prediction", weight: 600, colour: "ink" }], anchor, plane.turned ? ["left", "leftHigher", "leftLower"] : ["above", "aboveLeft", "aboveRight"]);
}

function askCursor(scene, lane, ask) {
  const { plane } = scene;
  const { strip, cursor } = scene.lanes[lane.name];
  if (!cursor) return;
  const mark = farEdge(strip, cursor.mark_delete_index);
  const runs = [{ text: plane.turned ? cursor.mark_delete : `mark-delete ${cursor.mark_delete}`, weight: 600, colour: "ink" }];
  if (mark >= plane.a0 - 1) {
    const anchor = anchorAt(plane, lane, mark, plane.cell + (plane.turned ? 22 : 17 * plane.scale));
    ask(PRIORITY.cursor, runs, anchor, plane.turned ? ["left", "leftHigher", "leftLower"] : mark > plane.a1 - 130 * plane.scale ? ["belowLeft", "belowRight", "below"] : ["belowRight", "belowLeft", "below"], positionAlone(plane, cursor));
  } else if (!plane.turned) {
    ask(PRIORITY.cursor, [{ text: `‹ mark-delete ${cursor.mark_delete}`, weight: 600, colour: "ink" }], anchorAt(plane, lane, plane.a0, plane.cell + 17 * plane.scale), ["belowRight"]);
  }
  if (scene.watched.subject !== lane.name) return;
  const { read } = scene.lanes[lane.name].pins;
  if (read && !plane.turned) {
    const anchor = anchorAt(plane, lane, read.along, plane.cell + (12 + 9 * read.level) * plane.scale);
    ask(PRIORITY.range, [{ text: "read position", weight: 400, colour: "ink2" }], anchor, ["besideRight", "besideLeft"], [[{ text: "read", weight: 400, colour: "ink2" }]]);
  }
  askRanges(plane, lane, strip, cursor, ask);
}

/** Where there is little room: the position without its name; on a phone, whose first lane has still less, the entry without its ledger. The text view has all. */
const positionAlone = (plane, { mark_delete }) => [[{ text: plane.turned ? mark_delete.slice(mark_delete.indexOf(":")) : mark_delete, weight: 600, colour: "ink" }]];

/** Individually deleted entries as Pulsar prints them, as much of the text as fits. */
function askRanges(plane, lane, strip, cursor, ask) {
  const last = cursor.ranges[cursor.ranges.length - 1];
  if (!last || plane.turned || !strip.fine) return;
  const words = (text) => [{ text, weight: 400, colour: "ink2" }];
  const printed = cursor.individually_deleted.replace(/^\[|\]$/g, "");
  const ranges = printed.match(/[([][^)\]]*[)\]]/g) ?? [printed];
  const rest = cursor.ranges_total - 2;
  const forms = [ranges.length <= RANGES_PRINTED ? printed : null, rest > 0 ? `${ranges.slice(0, 2).join(",")} and ${whole(rest)} more` : null, cursor.ranges_total > 1 ? `${whole(cursor.ranges_total)} ranges acknowledged` : null].filter(Boolean);
  const middle = (Math.max(plane.a0, nearEdge(strip, cursor.ranges[0][0])) + farEdge(strip, last[1])) / 2;
  ask(PRIORITY.range, words(forms[0]), { ...anchorAt(plane, lane, middle, plane.cell + 12 * plane.scale), end: plane.a1 }, ["below", "belowLeft", "belowRight", "lowerRow"], forms.slice(1).map(words));
}

/** Labels the first ledgers of the window where there is free space. */
function askLedgers(scene, lane, ask) {
  const { plane } = scene;
  if (plane.turned) return;
  for (const { ledger, along } of bordersOf(plane, scene.lanes[lane.name])) {
    ask(PRIORITY.quiet, [{ text: `ledger ${ledger}`, weight: 400, colour: "ink3" }], anchorAt(plane, lane, along + 2, -11 * plane.scale), ["aboveRight"]);
  }
}

function askHoles(scene, state, lane, ask) {
  const { plane } = scene;
  const { strip, cursor, store, bits } = scene.lanes[lane.name];
  if (!cursor || !strip.fine || scene.watched.subject !== lane.name || cursor.ranges.length === 0) return;
  for (const [first] of gapsOf(cursor, 3)) {
    if (first < strip.from || !store || first < store.first || first >= store.first + store.count) continue;
    const at = first - store.first;
    const held = (bits[first - strip.from] & UNACKED) !== 0;
    if (store.columns.kind[at] >= 100 || !(held || first === cursor.mark_delete_index + 1)) continue;
    const name = nameOfMessage(state, store, at);
    const since_us = heldSince(state, name);
    const runs = [{ text: name, weight: 600, colour: "ink" }];
    if (since_us !== null) runs.push({ text: plane.turned ? ` ${span(state.at_us - since_us)}` : ` held for ${span(state.at_us - since_us)}`, weight: 400, colour: "ink" });
    else if (!plane.turned && !held) runs.push({ text: first < cursor.read_index ? " not delivered yet" : " not read yet", weight: 400, colour: "ink2" });
    const middle = (nearEdge(strip, first) + farEdge(strip, first)) / 2;
    if (plane.turned) ask(PRIORITY.hole, runs, anchorAt(plane, lane, middle, -plane.lift - 4), ["right", "leftHigher"]);
    else ask(PRIORITY.hole, runs, anchorAt(plane, lane, middle, -plane.lift - 6 * plane.scale), ["above", "aboveRight", "aboveLeft"]);
  }
}

/** @returns {string} "web/98" */
export const nameOfMessage = (state, store, at) => `${state.names.list[store.columns.producer[at]] ?? "?"}/${store.columns.number[at]}`;

function heldSince(state, name) {
  const row = state.kept.held.findLast((one) => `${one.producer}/${one.sequence_id}` === name);
  return row ? row.at_us : null;
}

function askCauses(scene, state, lane, ask) {
  const { plane } = scene;
  const { strip, stretches, partial } = scene.lanes[lane.name];
  const hole = firstHoleName(scene, state);
  const counted = forecastOf(scene, state, lane);
  const shown = sumOf(stretches);
  // a batch whose messages are acked in part has fewer duplicates than messages: no count beyond the engine's figure is shown
  // while entries load, the stretches are of a part of the log
  const doubtful = partial || (counted !== undefined && shown > counted.duplicates);
  for (const stretch of stretches) {
    const from = Math.max(plane.a0, nearEdge(strip, stretch.first));
    const to = farEdge(strip, stretch.last);
    if (to <= plane.a0) continue;
    const messages = doubtful && !partial && stretches.length === 1 ? counted.duplicates : stretch.messages;
    // the headline's number is in every label: the others may be before the window, on the way, or without room for a label
    const of = counted !== undefined && messages < counted.all ? ` of ${whole(counted.all)}` : "";
    const count = harmRun(partial || (doubtful && stretches.length > 1) ? "duplicates" : `${whole(messages)}${of} ${messages === 1 && !of ? "duplicate" : "duplicates"}`, 650);
    const [reason, short] = CAUSE_WORDS[stretch.cause](hole).map((words) => harmRun(`: ${words}`));
    const bare = harmRun(doubtful ? "×2" : whole(messages), 650);
    const middle = (from + to) / 2;
    if (plane.turned) ask(PRIORITY.harm, [count, short], anchorAt(plane, lane, middle, plane.cell + 19), ["left"], [[count], [bare]]);
    else ask(PRIORITY.harm, [count, reason], { ...anchorAt(plane, lane, middle, plane.cell + WORDS_PX * plane.scale), end: plane.a1 }, ["below", "belowRight", "belowLeft", "belowEnd"], [[count, short], [count]]); // a number alone would not say of what; the list of labels without room does
  }
  if (!plane.turned && counted !== undefined) askComing(scene, lane, counted, ask);
}

const sumOf = (stretches) => stretches.reduce((sum, stretch) => sum + stretch.messages, 0);

/** @returns {{all: number, duplicates: number, coming: number} | undefined} the engine's forecast of duplicates, as in the headline; those of this lane's log; `coming`: of these not in the log yet */
function forecastOf({ watched }, state, lane) {
  const figures = state.view.forecast?.[watched.subscription];
  const logs = figures?.from === watched.subject ? figures.entries?.[lane.name] : undefined;
  const log = logs?.[watched.topic];
  if (!log || !figures.to[lane.name]) return undefined;
  const names = Object.keys(logs);
  // what is on its way belongs to the whole subscription, so one partition of several has none
  const all = figures.to[lane.name].duplicates;
  const coming = names.length === 1 ? all - log.messages : 0;
  return { all, duplicates: log.messages + coming, coming };
}

const harmRun = (text, weight = 400) => ({ text, weight, colour: "harm" });

/** Labels the forecast's duplicates that are not in this log yet. */
function askComing(scene, lane, { coming }, ask) {
  const { plane } = scene;
  if (coming <= 0 || scene.window.back > 0) return;
  const ways = ["belowLeft", "below", "belowRight"];
  ask(PRIORITY.harm, [harmRun(`${whole(coming)} more`, 650), harmRun(`: on the way to ${lane.name}`)], anchorAt(plane, lane, plane.a1, plane.cell + WORDS_PX * plane.scale), ways, [[harmRun(`${whole(coming)} more`, 650)]]);
}

function firstHoleName(scene, state) {
  const { cursor, store } = scene.lanes[scene.watched.subject] ?? {};
  if (!cursor || !store) return null;
  const index = cursor.mark_delete_index + 1;
  const at = index - store.first;
  return at >= 0 && at < store.count && store.columns.kind[at] < 100 ? nameOfMessage(state, store, at) : null;
}

function requestNotReplicated(scene, state, lane, ask) {
  const { plane } = scene;
  const { strip, bits, partial } = scene.lanes[lane.name];
  // as in the headline: what was processed already is no harm
  for (const [has, word, colour, reason] of /** @type {[(one: number) => boolean, string, string, (index: number) => string][]} */ ([
    [(one) => (one & NOT_REPLICATED) !== 0 && !(one & ACKED), "not replicated (unread)", "harm", () => `: only in ${lane.name}`],
    [(one) => (one & NOT_REPLICATED) !== 0 && (one & ACKED) !== 0, "not replicated (already processed)", "ink2", () => ""],
    [(one) => (one & LOST) !== 0, "lost", "harm", (index) => lostBecause(scene, state, lane, index)],
  ])) {
    const first = bits.findIndex(has);
    if (first < 0) continue;
    const last = bits.findLastIndex(has);
    const count = { text: partial ? word : `${whole(bits.reduce((sum, one) => sum + (has(one) ? 1 : 0), 0))} ${word}`, weight: 650, colour };
    const why = { text: reason(strip.from + first), weight: 400, colour };
    const middle = (nearEdge(strip, strip.from + first) + nearEdge(strip, strip.from + last)) / 2;
    const anchor = { ...anchorAt(plane, lane, middle, plane.cell + (plane.turned ? 19 : WORDS_PX * plane.scale)), end: plane.a1 };
    ask(PRIORITY.harm, plane.turned ? [count] : [count, why], anchor, plane.turned ? ["left"] : ["below"], [[count]]);
  }
}

function lostBecause({ watched }, state, lane, index) {
  const begin = state.begins[beginKey(lane.name, watched.topic, watched.subscription)] ?? -1;
  return index <= begin ? ": stored before the subscription was created" : ": the cursor passed them undelivered";
}

function askThread(scene, state, thread, ask) {
  const { plane } = scene;
  const points = pointsOf(scene, thread);
  const point = points[0]?.loose ? (points[1] ?? points[0]) : points[0];
  if (!point) return;
  const colour = thread.state === "applied" || thread.state === "evicted" ? "soft" : thread.state === "timed-out" ? "harm" : "proto";
  const runs = [{ text: shortName(state, thread.snapshot), weight: 650, colour: colour === "soft" ? "proto" : colour }];
  const words = thread.decided && thread.state === "applied" ? "applied" : THREAD_WORDS[thread.state];
  if (!plane.turned) runs.push({ text: ` ${words}`, weight: 400, colour: colour === "soft" ? "proto" : colour });
  const ways = plane.turned ? ["leftHigher", "left", "leftLower"] : ["above", "aboveLeft", "aboveRight", "nearRight", "nearLeft"];
  ask(PRIORITY.thread, runs, anchorAt(plane, point.lane, point.along, plane.turned ? plane.cell + 12 : -23 * plane.scale), ways, plane.turned ? [] : [runs.slice(0, 1)]);
}

function askWash(scene, ask) {
  const { plane } = scene;
  const applied = scene.threads.find((thread) => thread.state === "applied");
  const points = applied && !plane.turned ? pointsOf(scene, applied) : [];
  if (points.length < 2) return;
  // a partial snapshot has no position in some lanes
  const where = points.length === plane.lanes.length ? "in all regions" : `in ${points.map(({ lane }) => lane.name).join(" and ")}`;
  ask(PRIORITY.quiet, [{ text: `acked ${where}`, weight: 400, colour: "ink3" }], anchorAt(plane, plane.lanes[0], plane.a0, -25 * plane.scale), ["aboveRight"]);
}
