/** Duplicates on time axes and in strips: when they are requested, how near ones are joined, which words fit. */

import assert from "node:assert/strict";
import test from "node:test";
import { makeBursts } from "../../static/js/pages/lab_view.js";
import { layTapes } from "../../static/js/protocols/emqx/layout/group_plane.js";
import { countsOfFold, figuresOf, foldsOf } from "../../static/js/protocols/emqx/model/groups.js";
import { groupSecondSentence, groupSentence } from "../../static/js/protocols/emqx/model/group_sentence.js";
import { clustersOf, leadersOf } from "../../static/js/protocols/emqx/render/group_time.js";
import { plainSentence } from "../../static/js/render/sentence.js";
import { costOf } from "../../static/js/protocols/pulsar/model/sentence.js";
import { paintLanesPicture } from "../../static/js/protocols/pulsar/render/picture.js";

const BURST = { from_us: 5, until_us: 7, cause: "progress_unreported", count: 3 };
const answer = { branch: 0, counted_to_us: 10, failovers: [], shared: [{ group: "meters", bursts: [BURST] }, { group: "other", bursts: [] }] };
const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

function asked() {
  const paths = [];
  const bursts = makeBursts({ get: async (path) => (paths.push(path), answer), base: "", onAnswer: () => {} });
  const of = (duplicates, at_us, furthest_us = at_us, playing = false, wall_ms = 0) =>
    bursts.of({ at_us, epoch: 0, playing, view: { branch: 0, seq: 9, furthest_us, groups: { meters: { figures: { duplicates } } } } }, { group: "meters" }, wall_ms);
  return { paths, of };
}

test("instants of duplicates are requested when the view has more of them than the answer, and once for a stretch that was run before", async () => {
  const { paths, of } = asked();
  assert.deepEqual([of(0, 4), paths.length], [[], 0], "no duplicates, no request");
  of(3, 10);
  await settled();
  assert.deepEqual([of(3, 10), paths], [[BURST], ["why-duplicates.json"]]);
  assert.deepEqual([of(0, 4, 10), paths.length], [[BURST], 1], "seen from before, the same answer holds");
  of(3, 20, 20, true, 1000);
  assert.equal(paths.length, 1, "nothing new while it plays");
  of(4, 30, 30, true, 2000);
  assert.equal(paths.length, 1, "at most every three seconds while it plays");
  of(4, 40, 40, true, 4000);
  assert.equal(paths.length, 2);
});

test("bursts nearer than some px share a label with their causes", () => {
  const later = { from_us: 30, until_us: 30, cause: "owner_declared_dead", count: 2 };
  const xAt = (us) => us;
  assert.deepEqual(clustersOf([BURST, later], xAt, 10).map(({ count }) => count), [3, 2]);
  const [one] = clustersOf([BURST, later], xAt, 40);
  assert.deepEqual([one.from_us, one.count, [...one.causes]], [5, 5, [["progress_unreported", 3], ["owner_declared_dead", 2]]]);
});

test("leaders of a group over time end with their process, up to the instant shown", () => {
  const row = (type, at_us, count, subscription = "meters") => ({ type, at_us, count, subscription, cluster: "n1" });
  const rows = [row("leader.elected", 1, 1), row("leader.elected", 1, 9, "other"), row("leader.ended", 5, 1), row("leader.elected", 8, 2)];
  assert.deepEqual(leadersOf(rows, "meters", 7), [{ number: 1, node: "n1", from_us: 1, until_us: 5 }]);
  assert.equal(leadersOf(rows, "meters", 8).length, 2);
});

const reader = { id: "ada/0", client: "ada", lease: "granted", acknowledged: 50, delivered: 50, chunk: null };
const tape = (over) => ({ name: "0/1/meters", shard: "0", generation: "1", topic: "meters", length: 50, closed: false, committed: 50, duplicates: [[10, 14]], leader_entry: { owner: "ada/0", state: "granted", position: 50 }, led: true, readers: [reader], handed: 50, again: { leader: 0, kill: 0 }, ...over });

test("duplicates stay in view when the committed position is beyond them, unless they are far back", () => {
  const plane = { width: 1000, scale: 1, turned: false, top: 0 };
  assert.ok(layTapes([tape({})], plane).rows[0].first <= 10);
  assert.ok(layTapes([tape({ length: 5000, committed: 5000, readers: [{ ...reader, acknowledged: 5000, delivered: 5000 }] })], plane).rows[0].first > 4000);
  assert.ok(layTapes([tape({})], { ...plane, compact: true }).foot < layTapes([tape({})], plane).foot);
});

test("a strip says its duplicates first, in words and shorter", () => {
  const [fold] = foldsOf([tape({}), tape({ again: { leader: 3, kill: 0 } })], "shard");
  assert.deepEqual(countsOfFold(fold), [["2 streams"], ["8 messages duplicated", "8 duplicated"], ["3 redelivered if the leader crashes", "3 if the leader crashes"]]);
});

test("the figures say what they are: a median of handovers, a sum over streams", () => {
  const figures = { duplicates: 0, redeliveries: 0, handovers: 2, handover_us: { p50: 0, p95: 0, max: 0 }, unowned_us: 53_000_000, two_readers: 0, two_readers_us: 0, unowned_now: 1, two_readers_now: 0 };
  const [unread, handover] = figuresOf({ figures });
  assert.equal(handover.value, "no gap, median of 2");
  assert.equal(unread.note, "53 s so far, the sum over all streams");
});

function lab(duplicates, streams) {
  const leader = { node: "n1", borrowers: { "ada/0": {} }, streams: { s: { owner: "ada/0", state: "granted", position: 5 } } };
  const group = { text: "$share/meters/#", leaders: { 1: leader }, claim: { leader: 1, node: "n1" }, streams, repeats: { leader: { again: 4, acknowledged: 4 }, sessions: {} }, figures: { duplicates } };
  return { view: { groups: { meters: group }, sessions: { ada: { node: "n1", state: "online", subscriptions: [], borrowers: {} } }, streams: { s: { length: 5, closed: false } } }, at_us: 0 };
}

test("harm that has happened is the headline, or the line under it while something is wrong", () => {
  const read = { s: { committed: 1, readers: { "ada/0": { lease: "granted", acknowledged: 5, delivered: 5, chunk: null } } } };
  const watched = { group: "meters" };
  assert.equal(plainSentence(groupSentence(lab(7, read), watched)), "meters has delivered 7 duplicates so far. If its leader crashed now, 4 messages would be redelivered, all of them acknowledged.");
  assert.equal(groupSecondSentence(lab(7, read), watched), null);
  const open = { ...lab(7, read), welcome: { until_us: 0 } };
  open.view.groups.meters.figures.pending_repeats = 3;
  assert.match(plainSentence(groupSentence(open, watched)), /^meters has delivered at least 7 duplicates, still delivering at the end\. If/);
  assert.match(plainSentence(groupSentence({ ...open, welcome: { until_us: 9 } }, watched)), /7 duplicates so far\. If/);
  const none = { ...lab(0, read), welcome: { until_us: 0 } };
  assert.match(plainSentence(groupSentence(none, watched)), /^If the leader of meters crashed now/);
  none.view.groups.meters.figures.pending_repeats = 3;
  assert.match(plainSentence(groupSentence(none, watched)), /^meters has delivered no duplicates, still delivering at the end\./);
  const unread = { s: { committed: 1, readers: {} } };
  assert.match(plainSentence(groupSentence(lab(7, unread), watched)), /^No stream is read\./);
  assert.equal(plainSentence(groupSecondSentence(lab(7, unread), watched)), "7 duplicates so far.");
});

test("the cost of a failover names what is not zero, in crimson only duplicates and lost messages", () => {
  const none = { duplicates: 0, redeliveries: 0, lost: 0, stranded: 5, stranded_unprocessed: 0 };
  assert.deepEqual(costOf(none), [{ strong: "no duplicates" }, "."], "what only the source has was processed there");
  assert.deepEqual(costOf({ ...none, duplicates: 3, stranded_unprocessed: 1 }), [{ harm: "3 duplicates" }, ".", " ", { soft: "1 message not replicated (unread)" }, "."]);
  assert.deepEqual(costOf({ ...none, lost: 2 }), [{ strong: "no duplicates" }, ".", " ", { harm: "2 lost" }, "."]);
});

test("the small picture marks the duplicates of the engine, delivered or forecast, and nothing else in crimson", () => {
  const drawn = [];
  const methods = { fillRect: (x, y, width, height) => drawn.push({ colour: context.fillStyle, x, y, width, height }), measureText: () => ({ width: 1 }) };
  const context = new Proxy({ ...methods }, { get: (target, name) => target[name] ?? (() => {}) });
  const ink = Object.fromEntries(["bg", "sunk", "raise", "line", "strong", "ink", "ink2", "ink3", "proto", "soft", "wash", "harmSoft", "harmWash"].map((name) => [name, "#888888"]));
  const theme = { origin: Array(4).fill("#222222"), done: Array(4).fill("#aaaaaa"), ink: { ...ink, harm: "crimson" }, scale: 1, label: 11, families: {} };
  const cells = { first: 10, kind: [0, 0, 0, 0], producer: [0, 0, 0, 0], number: [1, 2, 3, 4], names: ["web"], snapshot: [-1, -1, -1, -1] };
  const cursor = (mark) => ({ billing: { mark_delete_index: mark, read_index: 14, ranges: [] } });
  const lane = (cluster, number, mark, duplicates) => ({ cluster, number, topic: "orders", state: "up", length: 14, cells, subscriptions: cursor(mark), duplicates });
  const crimson = (duplicates) => {
    drawn.length = 0;
    paintLanesPicture({ getContext: () => context, style: {} }, { lanes: [lane("a", 0, 13, { delivered: false, ranges: [] }), lane("b", 1, 10, duplicates)], threads: [] }, theme, { ratio: 1, width: 240, height: 112 });
    return drawn.filter(({ colour }) => colour === "crimson");
  };
  assert.deepEqual(crimson({ delivered: false, ranges: [] }), [], "acked in one region and not in another is no duplicate by itself");
  const forecast = crimson({ delivered: false, ranges: [[11, 12]] });
  assert.deepEqual([forecast.length, new Set(forecast.map(({ x }) => x)).size], [4, 2], "two lines under each of two entries");
  assert.deepEqual(crimson({ delivered: true, ranges: [[11, 13], [2, 3]] }).map(({ height }) => height), [4, 4, 4], "a bar under each that is in the picture");
});
