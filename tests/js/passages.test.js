/** The space-time diagram's models: rounds, merging of frames with the server's answers, counts, the highlighted cone. */

import test from "node:test";
import assert from "node:assert/strict";

import { litOf } from "../../static/js/pages/lights.js";
import { binned, foldMarkers, foldSnapshots, makePassages, noMarkers, noSnapshots } from "../../static/js/protocols/pulsar/model/snapshots.js";
import { timePanned, timeZoomed, turned } from "../../static/js/render/time_axes.js";

const request = (marker, at_us, snapshot = 1) => [
  { type: "marker.written", seq: marker * 10, at_us, cluster: "a", topic: "t", marker, reason: "snapshot_request", snapshot },
  { type: "marker.sent", seq: marker * 10 + 1, at_us, cluster: "a", peer: "b", topic: "t", marker, reason: "snapshot_request", snapshot },
  { type: "marker.stored", seq: marker * 10 + 2, at_us: at_us + 40, cluster: "b", peer: "a", topic: "t", marker, reason: "snapshot_request", snapshot },
];
const asked = (at_us, count) => ({ type: "snapshot.requested", seq: at_us, at_us, cluster: "a", topic: "t", snapshot: 1, count });

function labOf(rows, more = {}) {
  return { rows, markers: foldMarkers(noMarkers(), rows), snapshots: foldSnapshots(noSnapshots(), rows), view: { branch: 0, seq: 9000, furthest_us: 10_000 }, at_us: 2000, epoch: 1, playing: false, ...more };
}

const window = { start_us: 0, span_us: 1000, held: false };

test("a request after the second snapshot.requested belongs to the second round", () => {
  const rows = [asked(0, 1), ...request(1, 10), asked(200, 2), ...request(2, 210)].map((row, seq) => ({ ...row, seq }));
  const shown = makePassages({ get: () => assert.fail("the frames hold it all"), base: "", onAnswer: () => {} }).in(labOf(rows), "t", window, 0);
  assert.deepEqual(shown.markers.map(({ number, round }) => [number, round]), [[1, 1], [2, 2]]);
});

test("during playback, markers before the frames' rows are requested once and merged", async () => {
  const paths = [];
  const old = [asked(0, 1), ...request(1, 10)];
  const get = async (path) => {
    paths.push(path);
    return { branch: 0, count: old.length, rows: old };
  };
  const passages = makePassages({ get, base: "/labs/x/", onAnswer: () => {} });
  const lab = labOf(request(7, 600, 3).map((row) => ({ ...row, seq: row.seq + 1000 })), { playing: true });
  assert.equal(passages.in(lab, "t", window, 0).waiting, true);
  passages.in(lab, "t", window, 0);
  await new Promise((done) => setTimeout(done));
  const shown = passages.in(lab, "t", window, 0);
  assert.deepEqual(paths, ["/labs/x/passages.json?from_us=0&to_us=1500"]);
  assert.deepEqual(shown.markers.map((one) => one.number), [1, 7]);
});

test("when paused, only the answer for this window and instant is drawn", async () => {
  let answers = [request(1, 10), request(2, 300)];
  const paths = [];
  const get = async (path) => {
    paths.push(path);
    return { branch: 0, count: 1, rows: answers.shift() };
  };
  const passages = makePassages({ get, base: "/", onAnswer: () => {} });
  const numbers = (lab) => passages.in(lab, "t", window, 0).markers.map(({ number }) => number);
  const playing = labOf(request(7, 600).map((row) => ({ ...row, seq: row.seq + 1000 })), { playing: true });
  numbers(playing);
  await new Promise((done) => setTimeout(done));
  assert.deepEqual(numbers(playing), [1, 7]);
  const resting = { ...playing, playing: false };
  assert.equal(passages.in(resting, "t", window, 0).waiting, true);
  await new Promise((done) => setTimeout(done));
  assert.deepEqual(numbers(resting), [2]);
  assert.equal(passages.in(resting, "t", { ...window, start_us: 9000 }, 0).waiting, false, "nothing has happened there");
  assert.equal(paths.length, 2);
});

test("a marker of which the page has only the arrival is replaced by the server's answer", async () => {
  const whole = request(1, 10);
  const passages = makePassages({ get: async () => ({ branch: 0, count: 3, rows: whole }), base: "", onAnswer: () => {} });
  const lab = labOf([{ ...whole[2], seq: 500 }]);
  passages.in(lab, "t", window, 0);
  await new Promise((done) => setTimeout(done));
  assert.equal(passages.in(lab, "t", window, 0).markers[0].written_us, 10);
});

test("markers are counted per link, kind and part of the window", () => {
  const rows = Array.from({ length: 50 }, (_, at) => request(at + 1, at * 20)).flat();
  const { width_us, counts, lost } = binned([...foldMarkers(noMarkers(), rows).values()], { start_us: 0, span_us: 1000 }, 10);
  assert.equal(width_us, 100);
  assert.deepEqual(counts, { "a -> b": { snapshot_request: new Array(10).fill(5) } });
  assert.deepEqual(lost, {});
});

test("too many markers on the page are drawn as counts", () => {
  const rows = Array.from({ length: 800 }, (_, at) => request(at + 1, at)).flat();
  const shown = makePassages({ get: () => assert.fail("the frames hold it all"), base: "", onAnswer: () => {} }).in(labOf(rows.map((row, seq) => ({ ...row, seq }))), "t", window, 0);
  assert.equal(shown.markers.length, 0);
  assert.equal(shown.bins.counts["a -> b"].snapshot_request.reduce((sum, one) => sum + one), 800);
});

test("a cone connects each row to its cause and contains its markers, snapshots and entries", () => {
  const back = [{ seq: 1, at_us: 5, type: "snapshot.requested", cluster: "a", topic: "t", snapshot: 4 }];
  const row = { seq: 2, at_us: 6, type: "marker.written", cause_seq: 1, cluster: "a", topic: "t", marker: 9, snapshot: 4, ledger: 3, entry: 7 };
  const forward = [{ seq: 5, at_us: 46, type: "marker.stored", cause_seq: 2, cluster: "b", topic: "t", marker: 9, snapshot: 4, ledger: 8, entry: 1 }];
  const lit = litOf({ row, back, forward, more: true });
  assert.deepEqual(lit.edges.map(({ from, to, back: before }) => [from.seq, to.seq, before]), [[1, 2, true], [2, 5, false]]);
  assert.deepEqual([[...lit.markers], [...lit.snapshots], [...lit.seqs].sort()], [[9], [4], [1, 2, 5]]);
  assert.deepEqual(lit.entries, { "a/t": ["3:7"], "b/t": ["8:1"] });
});

test("a panned window stays wherever the now line is, and zooming keeps the instant under the pointer", () => {
  const away = timePanned({ start_us: 1000, span_us: 4000, held: false }, -500);
  assert.equal(turned(away, 900_000, 2000), away);
  assert.equal(away.start_us, 500);
  const closer = timeZoomed({ start_us: 1_000_000, span_us: 4_000_000, held: false }, 1, 2_000_000);
  assert.equal((2_000_000 - closer.start_us) / closer.span_us, 0.25);
});
