import assert from "node:assert/strict";
import { test } from "node:test";

import { unfolded } from "../../static/js/protocols/emqx/render/node_message_diagram.js";
import { deadlinesOf, foldNodeMessages, overlapsOf, wordsOfMessage } from "../../static/js/protocols/emqx/model/node_messages.js";

const sent = (seq, at_us, reason, count, more = {}) => ({ seq, at_us, type: "protocol.sent", reason, count, cluster: "n1", peer: "n1", client: "ada", ...more });
const about = (type, seq, at_us, count, more = {}) => ({ seq, at_us, type: `protocol.${type}`, count, client: "ada", ...more });

test("a request that a registry forwards is one message from the session to the leader", () => {
  const rows = [sent(5, 100, "leader-wanted", 1), sent(6, 100, "leader-wanted", 2, { cause_seq: 5, peer: "n2" }), about("arrived", 9, 300, 2)];
  const { messages } = foldNodeMessages(rows);
  assert.equal(messages.length, 1);
  assert.deepEqual([messages[0].from, messages[0].to, messages[0].unanswered], ["session ada", "leader n2", false]);
  assert.deepEqual(messages[0].arrivals, [{ at_us: 300, order: 9 }]);
});

test("a message is described as lost, delayed, duplicated, resent or without a leader", () => {
  const rows = [
    sent(1, 10, "grant", 1, { peer: "n2", topic: "0/1/t", entry: 4 }),
    about("lost", 2, 20, 1, { detail: "loss" }),
    sent(3, 30, "grant", 2, { peer: "n2", topic: "0/1/t", entry: 4 }),
    about("duplicated", 4, 30, 2),
    about("arrived", 5, 40, 2),
    about("arrived", 6, 50, 2),
    sent(7, 60, "ping", 3),
    about("delayed", 8, 60, 3, { duration_us: 500 }),
    sent(9, 70, "leader-wanted", 4),
  ];
  const [first, second, ping, asked] = foldNodeMessages(rows, [3]).messages;
  assert.equal(wordsOfMessage(first), "grant of 0/1/t at 4, the leader at n1 to ada (lost: loss)");
  assert.equal(wordsOfMessage(second), "grant of 0/1/t at 4, the leader at n1 to ada (resent, duplicated)");
  assert.equal(second.arrivals.length, 2);
  assert.deepEqual(ping.arrivals, [{ at_us: 560, order: Infinity }]);
  assert.ok(asked.unanswered && asked.arrivals.length === 0);
});

test("two may read between the leader's deadline and the borrower's own", () => {
  const row = (seq, at_us, type, more) => ({ seq, at_us, type, client: "ada", count: 0, cluster: "n1", ...more });
  const before = [
    row(1, 0, "leader.elected", { count: 7 }),
    row(2, 0, "borrower.joined"),
    row(3, 0, "borrower.changed", { reason: "connected" }),
    sent(4, 4_000_000, "ping-response", 9, { peer: "n2" }),
    about("arrived", 5, 4_001_000, 9, { reason: "ping-response" }),
  ];
  const spans = { leader_borrower_timeout: 5_000_000, session_ping_leader_interval: 4_000_000, session_ping_leader_timeout: 4_000_000 };
  const folded = foldNodeMessages([row(6, 12_001_000, "borrower.changed", { reason: "gone", detail: "no answer" })], [], before);
  assert.deepEqual(overlapsOf(deadlinesOf(folded, spans, 8_000_000)), []);
  assert.deepEqual(overlapsOf(deadlinesOf(folded, spans, 20_000_000)), [{ client: "ada", number: 0, from_us: 9_000_000, until_us: 12_001_000 }]);
});

test("a lease ends with its borrower, and has the state of its last row", () => {
  const lease = (seq, at_us, reason, topic) => ({ seq, at_us, type: "lease.changed", reason, topic, client: "ada", count: 0 });
  const gone = { seq: 9, at_us: 90, type: "borrower.changed", reason: "gone", detail: "killed", client: "ada", count: 0 };
  const { leases } = foldNodeMessages([lease(1, 10, "granted", "a"), lease(2, 10, "granted", "b"), lease(3, 50, "revoking", "a"), lease(4, 60, "absent", "a"), gone, lease(10, 90, "revoking", "b")]);
  assert.deepEqual(
    leases.map(({ stream, state, from, until }) => [stream, state, from.at_us, until.at_us]),
    [
      ["a", "granted", 10, 50],
      ["b", "granted", 10, 90],
      ["a", "revoking", 50, 60],
    ],
  );
});

test("a stretched axis keeps the order, gives each event a step and can be inverted", () => {
  const points = [3, 1, 2].map((order) => ({ at_us: 500, order })).concat({ at_us: 501, order: 9 });
  const scale = unfolded({ start_us: 0, span_us: 1000, from_px: 0, to_px: 400, points, step_px: 12 });
  const places = points.toSorted((a, b) => a.order - b.order).map(scale.at);
  for (let at = 1; at < places.length; at++) assert.ok(places[at] - places[at - 1] >= 12);
  assert.equal(scale.after(1000), 400);
  assert.equal(scale.usAt(scale.after(700)), 700);
  const crowd = Array.from({ length: 5000 }, (_, order) => ({ at_us: order % 1000, order }));
  assert.equal(unfolded({ start_us: 0, span_us: 1000, from_px: 0, to_px: 400, points: crowd, step_px: 12 }).after(1000), 400);
});
