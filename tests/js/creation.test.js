/** “Topics and policies”: states of replicators, differences between clusters, refused starts over time. */

import assert from "node:assert/strict";
import test from "node:test";
import { climbing, creationReason, creationSentence, headline, nextTry, partsOf, shapeWords, sideBySide, replicatorState, replicatorStateWords, topicsOf } from "../../static/js/protocols/pulsar/model/creation.js";

const part = (more) => ({ connected: true, last_error: null, delay_s: 0, replication_backlog: 0, next_try_us: null, ...more });
const start = (more, parts = [part(more)]) => ({ from: "us", to: "eu", topic: "orders", ...part(more), parts });
const plain = (parts) => parts.map((part) => (typeof part === "string" ? part : (part.strong ?? part.harm ?? part.soft))).join("");
const REFUSED = { connected: false, last_error: "different", replication_backlog: 70 };

test("a replicator's state is derived from its connection and last error", () => {
  assert.equal(replicatorState(part({})), "runs");
  assert.equal(replicatorState(part({ last_error: "a schema" })), "stopped");
  assert.equal(replicatorState(part(REFUSED)), "refused");
  assert.equal(replicatorState(part({ connected: false })), "starting");
});

test("the headline counts the replicators that are not running, their backlog, and the reported delay", () => {
  assert.equal(plain(headline([])), "No topic is replicated to another cluster.");
  assert.equal(plain(headline([start({})])), "The only replicator is running: its start check passed.");
  assert.equal(plain(headline([start({}), start({})])), "Both replicators are running: their start checks passed.");
  assert.equal(plain(headline([start(REFUSED)])), "The only replicator is not replicating; backlog 70 messages, replicationDelayInSeconds 0.");
  assert.equal(plain(headline([start(REFUSED), start({}), start({ ...REFUSED, replication_backlog: 1 })])), "2 of 3 replicators are not replicating; backlog 71 messages, replicationDelayInSeconds 0.");
  assert.equal(plain(headline([start({ ...REFUSED, replication_backlog: 0 }), start({})])), "1 of 2 replicators is not replicating; backlog 0.");
  assert.equal(plain(headline([start({ ...REFUSED, replication_backlog: 1, delay_s: 4 })])), "The only replicator is not replicating; backlog 1 message.");
});

test("partitions are counted only when some are running and some are not", () => {
  assert.equal(partsOf(start(REFUSED)), "");
  assert.equal(partsOf(start(REFUSED, [part(REFUSED), part({}), part(REFUSED)])), "2 of 3 partitions");
  assert.equal(partsOf(start(REFUSED, [part(REFUSED), part(REFUSED)])), "");
});

test("the next retry is described relative to the present", () => {
  assert.equal(nextTry(start({ next_try_us: 5_000_000 }), 3_800_000), "retries in 1.2 s");
  assert.equal(nextTry(start({ next_try_us: 5 }), 9), "retries now");
  assert.equal(nextTry(start({}), 9), "");
});

test("policies are listed side by side, also for a namespace that one cluster lacks", () => {
  const clusters = { us: { namespaces: { "a/b": { replicationClusters: "[us, eu]", strategy: "FULL" } }, topics: {} }, eu: { namespaces: { "a/b": { replicationClusters: "[eu]", strategy: "FULL" }, "c/d": { strategy: "FULL" } }, topics: {} } };
  const [first, second] = sideBySide(clusters);
  assert.deepEqual(first.policies.map(({ policy, differs }) => [policy, differs]), [["replicationClusters", true], ["strategy", false]]);
  assert.deepEqual(second.policies, [{ policy: "strategy", values: [null, "FULL"], differs: true }]);
});

test("topics differ when clusters have them with different numbers of partitions", () => {
  const here = (partitions) => ({ partitions, logs_only: [], namespace: "a/b", schemas: [], list: ["us"], list_of: "namespace" });
  const clusters = { us: { topics: { x: here(2), y: here(0), z: here(2) } }, eu: { topics: { x: here(3), y: here(null), z: here(2) } } };
  assert.deepEqual(topicsOf(clusters).map(({ topic, differs }) => [topic, differs]), [["x", true], ["y", false], ["z", false]]);
  assert.equal(shapeWords(here(null)), "not here");
  assert.equal(shapeWords(here(0)), "not partitioned");
  assert.equal(shapeWords({ partitions: 0, logs_only: ["x-partition-0", "x-partition-1"] }), "not partitioned, and 2 topics named like partitions");
});

test("refused starts are counted one by one up to now", () => {
  assert.deepEqual(climbing({ at_us: [1_000_000, 3_000_000] }, 9_000_000), { x: [0, 1, 3, 9], y: [0, 1, 2, 2] });
});

test("the page's headline says which replicators run, and why the worst does not, only in this family", () => {
  const no = (backlog) => ({ replicators: { eu: { state: "disconnected", last_error: "Partition denied", backlog } } });
  const yes = (backlog = 0, state = "started") => ({ replicators: { eu: { state, last_error: null, backlog } } });
  const state = (family, topics) => ({ welcome: { family }, view: { clusters: { us: { topics }, eu: { topics: {} } } } });
  const said = (topics) => plain(creationSentence(state("topic-creation", topics)));
  const topics = { "orders-partition-0": no(3), "orders-partition-1": no(4), parcels: yes(9) };
  assert.equal(said(topics), "us does not replicate orders to eu: backlog 7 messages. 1 of 2 replicators runs.");
  assert.equal(plain(creationReason(state("topic-creation", topics))), "Why: Partition denied.");
  assert.equal(said({ parcels: yes(9) }), "The only replicator runs: us → eu for parcels.");
  assert.equal(creationReason(state("topic-creation", { parcels: yes(9) })), null);
  assert.equal(said({ parcels: yes(), letters: yes() }), "Both replicators run: us → eu for parcels, us → eu for letters.");
  assert.equal(said({ parcels: yes(), letters: yes(0, "starting") }), "1 of 2 replicators runs: us → eu for parcels. The others are starting.");
  assert.equal(said({}), "No topic is replicated to another region yet.");
  assert.equal(creationSentence(state("replicated-subscriptions", topics)), null);
  assert.equal(creationReason(state("replicated-subscriptions", topics)), null);
});

test("a replicator of a region that is down or of an unloaded topic is not running", () => {
  const down = part({ connected: false, not_running: "us is down" });
  assert.equal(replicatorState(down), "down");
  assert.equal(replicatorStateWords(down), "not running: us is down");
  assert.equal(replicatorStateWords(part({ connected: false })), "starting");
});
