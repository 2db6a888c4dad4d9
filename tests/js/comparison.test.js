/** A comparison's columns at any instant: counts, cells, forecast and actual duplicates, messages in flight; and the page's own clock. */

import assert from "node:assert/strict";
import test from "node:test";
import { CELL, causesOf, cellAt, columnsOf, figureOf, figureWords, highestFigure, holeAt, missingWords, passagesAt, reached, figuresAt, stepsOf, duplicateAt } from "../../static/js/pages/comparison.js";
import { atSpeed, clockUpTo, paused, played, settled, shown, movedTo } from "../../static/js/transport/clock.js";

const messages = {
  producer: ["p", "p", "p", "p"],
  sequence_id: [0, 1, 2, 3],
  origin: ["a", "a", "a", "a"],
  stored_us: [10, 20, 30, 40],
  at_source_us: [10, 20, 30, 40],
  at_target_us: [15, 25, 35, 120],
  acknowledged_us: [12, 130, 32, 42],
  known_us: [50, -1, -1, -1],
  forecast_us: [15, 130, 35, 120],
  delivered_us: [-1, 105, 110, 125],
  delivery: ["", "redelivered", "duplicate", "duplicate"],
  cause: ["", "", "after_last_sync", "not_in_target_yet"],
  lost: [false, false, false, false],
};
const passages = [
  { kind: "request", from: "a", left_us: 40, arrived_us: 50, lost: false },
  { kind: "snapshot_request", from: "a", left_us: 60, arrived_us: null, lost: false },
];
const answer = {
  columns: ["local", "acknowledgement-sync"].map((strategy) => ({
    strategy, title: strategy, says: "", text: "x", costs: {}, until_us: 200,
    failovers: [{ by_cause: { ack_hole: 0, not_in_target_yet: 1, after_last_sync: 1 } }],
    followed: [{ subscription: "s", from: "a", to: "b", at_us: 100, closed_us: null, messages, passages, faults: [{ type: "link.cut", cluster: "a", peer: "b", at_us: 70 }] }],
  })),
};
const [column] = columnsOf(answer, 0);

test("an instant is counted from when it is reached", () => {
  assert.deepEqual([-1, 9, 10, 45, 1e9].map((at_us) => reached(column.sorted.stored, at_us)), [0, 0, 1, 4, 4]);
});

test("before the move, acked messages in the target are forecast duplicates until it has their acks", () => {
  assert.deepEqual([12, 15, 42, 50].map((at_us) => figuresAt(column, at_us).forecast), [0, 1, 2, 1], "a message that is not in the target yet is none");
  assert.equal(figureOf(figuresAt(column, 99)), 1);
});

test("the headline's number is how many messages the picture marks, at any instant", () => {
  for (const at_us of [0, 12, 15, 34, 35, 42, 49, 50, 99, 100, 110, 120, 125, 199]) {
    const now = figuresAt(column, at_us);
    const marks = messages.stored_us.map((_, at) => duplicateAt(messages, at, at_us, now.moved));
    assert.equal(figureOf(now), marks.filter((mark) => mark === (now.moved ? "has" : "would")).length, `${at_us}`);
  }
});

test("after the move, duplicates so far are counted by cause", () => {
  assert.equal(figureOf(figuresAt(column, 100)), 0);
  const late = figuresAt(column, 125);
  assert.deepEqual([late.duplicates, late.redelivered, late.replicated], [2, 1, 1]);
  assert.deepEqual(Object.fromEntries(figuresAt(column, 110).causes), { ack_hole: 0, not_in_target_yet: 0, after_last_sync: 1 });
  assert.deepEqual(causesOf([column]), ["not_in_target_yet", "after_last_sync"]);
});

test("of a run that ended too early, the last number is a lower bound", () => {
  const early = columnsOf({ columns: answer.columns.map((one) => ({ ...one, failovers: [{ ...one.failovers[0], pending_repeats: 7 }] })) }, 0)[0];
  assert.deepEqual([90, 110, 125, 200].map((at_us) => figureWords(figuresAt(early, at_us))), ["1", "1", "at least 2", "at least 2"]);
  assert.equal(figureWords(figuresAt(column, 200)), "2", "nothing is still to be delivered");
});

test("the scale covers the highest figure of any instant", () => {
  assert.equal(highestFigure([column]), 2);
});

test("a cell is done when its cluster counts the message as acked", () => {
  assert.equal(cellAt(messages, 0, 9, false), CELL.absent);
  assert.equal(cellAt(messages, 0, 12, false), CELL.done);
  assert.equal(cellAt(messages, 0, 49, true), CELL.there);
  assert.equal(cellAt(messages, 0, 50, true), CELL.done);
  assert.equal(cellAt(messages, 2, 110, true), CELL.done, "delivered again and acknowledged before");
  assert.equal(cellAt(messages, 1, 120, true), CELL.there, "delivered, not yet acknowledged");
});

test("forecast and actual duplicates are distinguished", () => {
  assert.equal(duplicateAt(messages, 2, 34, false), "", "not there yet");
  assert.equal(duplicateAt(messages, 2, 35, false), "would");
  assert.equal(duplicateAt(messages, 0, 50, false), "", "known");
  assert.equal(duplicateAt(messages, 2, 110, true), "has");
  assert.equal(duplicateAt(messages, 3, 121, true), "would");
  assert.equal(duplicateAt(messages, 1, 121, true), "", "not acknowledged before");
});

test("a small gap between acked messages is a hole", () => {
  assert.equal(holeAt(messages, 31, false), -1);
  assert.equal(holeAt(messages, 32, false), 1);
});

test("a message in flight has its share of the way", () => {
  assert.deepEqual(passagesAt(column.followed, 45), [{ kind: "request", from: "a", left_us: 40, way: 0.5, lost: false }]);
  assert.equal(passagesAt(column.followed, 51).length, 0);
  assert.ok(passagesAt(column.followed, 199)[0].way < 0.2, "what never arrives waits at the beginning");
});

test("steps stop at moves, faults, departures and arrivals", () => {
  assert.deepEqual(stepsOf([column]), [40, 50, 60, 70, 100]);
});

test("a strategy without the failover gives the reason", () => {
  assert.deepEqual(columnsOf(answer, 1), []);
  const refused = { command: "migration.switch", ok: false, error: "step 3 is running" };
  const [one, other] = answer.columns;
  const without = { ...other, followed: [], commands: [{ ok: true }, refused] };
  assert.deepEqual(columnsOf({ columns: [one, without] }, 0).map((each) => each.strategy), ["local"]);
  assert.equal(missingWords(without), "No failover under this strategy. migration.switch was refused: step 3 is running.");
  assert.equal(missingWords({ ...without, commands: [] }), "No failover under this strategy.");
});

test("a run with too many messages gives columns without messages", () => {
  const bare = { columns: answer.columns.map((one) => ({ ...one, followed: [{ ...one.followed[0], messages: null }] })) };
  assert.equal(columnsOf(bare, 0)[0].total, 0);
});

// --- the page's own clock

test("the clock runs at its speed, stops at the end and starts again", () => {
  let clock = played(clockUpTo(1_000_000, 2), 100);
  assert.equal(shown(clock, 350), 500_000);
  assert.equal(shown(clock, 9_999), 1_000_000);
  clock = settled(clock, 9_999);
  assert.deepEqual([clock.playing, clock.at_us], [false, 1_000_000]);
  assert.equal(shown(played(clock, 0), 0), 0);
});

test("changing the speed keeps the instant, and seeking keeps the speed", () => {
  let clock = played(clockUpTo(1_000_000, 1), 0);
  clock = atSpeed(clock, 0.1, 100);
  assert.equal(shown(clock, 200), 110_000);
  clock = movedTo(clock, 700_000, 200);
  assert.equal(shown(clock, 300), 710_000);
  assert.equal(shown(paused(clock, 300), 9_000), 710_000);
  assert.equal(movedTo(clock, -5, 0).at_us, 0);
});
