/** The text beside a cluster's name when it has a problem. */

import assert from "node:assert/strict";
import test from "node:test";
import { troubleWords } from "../../static/js/protocols/pulsar/render/headings.js";

const lane = (more = {}, state = "disconnected", last_error = "disconnected: crash") => ({ name: "us", state: "up", topic: { loaded: true, replicators: { eu: { state, last_error } } }, cursor: { consumers: {} }, ...more });
const words = (one, eu, link = "up") => troubleWords(one, [], { turned: false, clusters: { us: { state: "up" }, eu }, links: { "us -> eu": { state: "up" }, "eu -> us": { state: link } }, topic: "orders" });
const eu = (loaded, state = "up") => ({ state, topics: { orders: { loaded } } });

test("a peer cannot be reached only when a link is cut", () => {
  assert.equal(words(lane(), eu(true), "cut"), "cannot reach eu");
  assert.equal(words(lane(), eu(true)), "is reconnecting to eu", "the topic was unloaded there, and loaded again");
  assert.equal(words(lane({}, "disconnected", "Topic was already terminated in eu"), eu(true)), "does not replicate to eu");
  assert.equal(words(lane(), eu(false)), "", "its own lane says that the topic is not loaded");
  assert.equal(words(lane(), eu(true, "down")), "");
  assert.equal(words(lane({}, "started"), eu(true)), "");
});

test("an unloaded topic is reported instead of its disconnected replicators", () => {
  assert.equal(words(lane({ topic: { loaded: false, replicators: { eu: { state: "disconnected" } } } }), eu(true)), "topic not loaded");
});

test("a region that is down or lost is reported first", () => {
  assert.equal(words(lane({ state: "down" }), eu(true)), "down");
  assert.equal(words(lane({ state: "lost" }), eu(true)), "lost permanently");
});
