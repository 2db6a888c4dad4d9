/** The positions that a viewer predicts: after each message, found from clicks and keys, and compared by what they cover. */

import assert from "node:assert/strict";
import test from "node:test";
import { choiceAt, choiceBeside, choicesIn, coverSame, indexIn } from "../../static/js/protocols/pulsar/pages/predictions.js";

const WATCHED = { topic: "orders" };

/** A log of messages (m) and markers (s) in two ledgers: 7 with three entries, 9 with the others; entries before `first` are not held. */
function stateOf(entries, first = 0) {
  const held = [...entries].slice(first);
  const columns = { kind: held.map((one) => (one === "m" ? 0 : 110)), producer: held.map(() => 0), number: held.map((_, at) => first + at) };
  const topic = { ledgers: [[7, 0, 3], [9, 3, entries.length - 3]], length: entries.length };
  return { names: { list: ["shop"] }, view: { clusters: { east: { topics: { orders: topic } } } }, cells: { "east/orders": { first, count: held.length, columns } } };
}

test("a position can be chosen after each message and before the first, not at markers", () => {
  assert.deepEqual(choicesIn(stateOf("mmssm"), WATCHED, "east"), [
    { index: -1, position: "7:-1", words: "before the first message" },
    { index: 0, position: "7:0", words: "up to shop/0" },
    { index: 1, position: "7:1", words: "up to shop/1" },
    { index: 4, position: "9:1", words: "up to shop/4" },
  ]);
  assert.deepEqual(choicesIn(stateOf("mmssm"), WATCHED, "west"), []);
  assert.deepEqual(choicesIn(stateOf("mmssm", 3), WATCHED, "east").map(({ position }) => position), ["9:1"], "entries that are not held are not offered");
});

test("a click on a marker chooses the message before it", () => {
  const choices = choicesIn(stateOf("mmssm"), WATCHED, "east");
  assert.equal(choiceAt(choices, 3).position, "7:1");
  assert.equal(choiceAt(choices, 4).position, "9:1");
  assert.equal(choiceAt(choicesIn(stateOf("smm"), WATCHED, "east"), 0).position, "7:-1");
});

test("keys move by messages, begin at the newest and stop at both ends", () => {
  const choices = choicesIn(stateOf("mmssm"), WATCHED, "east");
  const go = (index, by) => choiceBeside(choices, index, by).position;
  assert.equal(go(null, -1), "9:1");
  assert.equal(go(null, 1), "9:1");
  assert.equal(go(4, -1), "7:1");
  assert.equal(go(3, 1), "9:1");
  assert.equal(go(3, -1), "7:0", "from a marker: the message before the one that it covers");
  assert.equal(go(4, 1), "9:1");
  assert.equal(go(0, -5), "7:-1");
  assert.equal(go(4, -Infinity), "7:-1");
  assert.equal(go(null, Infinity), "9:1");
  assert.equal(choiceBeside([], null, 1), undefined);
});

test("two positions cover the same messages when only markers lie between them", () => {
  const state = stateOf("mmssm");
  const same = (one, other) => coverSame(state, WATCHED, "east", one, other);
  assert.ok(same("7:1", "9:0"));
  assert.ok(same("9:0", "7:1"));
  assert.ok(same("7:1", "7:1"));
  assert.ok(!same("7:0", "7:1"));
  assert.ok(!same("9:0", "9:1"));
  assert.ok(!same("7:1", "9:40"), "entries that are not held may be messages");
  assert.ok(!same("7:1", "5:3"), "a ledger that is not known");
  assert.ok(!same("7:1", "later"));
});

test("a text that is no position has no index", () => {
  const state = stateOf("mmssm");
  assert.equal(indexIn(state, WATCHED, "east", "9:1"), 4);
  assert.equal(indexIn(state, WATCHED, "east", "7:-1"), -1);
  for (const text of ["", "9", "9:", "nine:1", "9:1:1"]) assert.equal(indexIn(state, WATCHED, "east", text), null);
});
