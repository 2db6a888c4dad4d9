import assert from "node:assert/strict";
import { test } from "node:test";

import { broadcastSentence } from "../../static/js/protocols/pulsar/model/sentence.js";
import { fedBy, readsInAll, savedBytes, sharedLedgers, shadowSentence, sourceWatched, sourcesOf } from "../../static/js/protocols/pulsar/model/shadows.js";

const reads = (cache, bookies) => ({ cache, bookies, offload: 0, bookie_bytes: bookies * 100 });
const subscription = (mark_delete_index, backlog, ranges = []) => ({ mark_delete_index, backlog, ranges });
const shadow = (more) => ({ source: "orders", loaded: true, behind_entries: 0, stale_us: 0, saved_bytes: 400, queued_adds: 0, lost: {}, unreadable: null, replicator: { state: "started", backlog: 0 }, reads: reads(0, 4), source_reads: reads(8, 0), ...more });

function lab({ audit = {}, screens = null } = {}) {
  const topics = {
    orders: { length: 14, first_kept: 10, last_position: "9:3", ledgers: [[8, 10, 2], [9, 12, 2]], subscriptions: { billing: subscription(13, 0) } },
    "orders-audit": { length: 14, first_kept: 10, last_position: "9:3", ledgers: [], subscriptions: { audit: subscription(9, 4, [[11, 12]]) }, shadow: shadow(audit) },
    other: { length: 3, first_kept: 0, last_position: "7:2", ledgers: [[7, 0, 3]], subscriptions: {} },
  };
  if (screens) topics["orders-screens"] = { length: 12, first_kept: 10, last_position: "8:1", ledgers: [], subscriptions: {}, shadow: shadow(screens) };
  return { view: { clusters: { eu: { topics }, us: { topics: {} } } } };
}

const watched = (topic) => ({ topic, clusters: ["eu", "us"] });

test("sources are topics with shadow topics", () => {
  assert.deepEqual(sourcesOf(lab()), [["eu", "orders"]]);
  assert.deepEqual(sourcesOf({ view: { clusters: {} } }), []);
});

test("the source shown is the watched topic, or the source of the watched shadow topic, else the first", () => {
  for (const topic of ["orders", "orders-audit", "other"]) assert.deepEqual(sourceWatched(lab(), watched(topic)), ["eu", "orders"]);
  assert.equal(sourceWatched({ view: { clusters: {} } }, watched("orders")), null);
});

test("shared ledgers list the source first, and each reader with its own end and cursors", () => {
  const shared = sharedLedgers(lab({ screens: { behind_entries: 2, stale_us: 500 } }), ["eu", "orders"]);
  assert.deepEqual(shared.ledgers.map(({ id, first, end, open }) => [id, first, end, open]), [[8, 10, 12, false], [9, 12, 14, true]]);
  assert.deepEqual(shared.readers.map(({ name, is_source, seen_to }) => [name, is_source, seen_to]), [["orders", true, 14], ["orders-audit", false, 14], ["orders-screens", false, 12]]);
  assert.deepEqual(shared.readers[1].cursors, [{ name: "audit", mark: 10, ranges: [[11, 12]], backlog: 4, lost: 0 }]);
  assert.equal(savedBytes(shared), 800);
  assert.equal(readsInAll(shared.readers[0]), 8);
  assert.equal(sharedLedgers(lab(), ["eu", "gone"]), null);
});

test("the replicator's state of a shadow topic is described", () => {
  const of = (more) => fedBy(sharedLedgers(lab({ audit: more }), ["eu", "orders"]).readers[1]);
  assert.equal(of({}), "replicator connected");
  assert.equal(of({ loaded: false }), "not loaded");
  assert.equal(of({ replicator: null }), "no replicator");
  assert.equal(of({ replicator: { state: "disconnected", backlog: 3 } }), "replicator disconnected, backlog 3 entries");
});

test("the headline has the bytes saved and the worst: a loss before a lag", () => {
  const words = (more) => shadowSentence(lab(more), watched("orders")).map((part) => part.strong ?? part.harm ?? part.soft ?? part).join("");
  assert.equal(words({}), "orders and 1 shadow topic share one set of ledgers: 400 B saved. It does not lag.");
  assert.match(words({ audit: { behind_entries: 4, stale_us: 2_000_000 } }), /400 B saved\. orders-audit lags by 4 entries, 2 s\.$/);
  assert.match(words({ audit: { behind_entries: 1, stale_us: 1000 } }), /It does not lag\.$/, "a lag of 1 ms is not mentioned");
  assert.match(words({ audit: { lost: { audit: 7 }, behind_entries: 4, stale_us: 9 } }), /Lost for orders-audit: 7 messages\./);
  assert.equal(shadowSentence({ view: { clusters: {} } }, watched("orders")), null);
});

test("the headline of a broadcast names the slowest subscription", () => {
  const audience = (more) => ({ topic: "news", subscriptions: 300, connected: 300, slowest_us: 43_500, ...more });
  const words = (audiences) => broadcastSentence({ view: { audiences } })?.map((part) => part.strong ?? part.harm ?? part.soft ?? part).join("");
  assert.equal(words({ "everybody/news": audience(), "east/news-east": audience({ topic: "news-east", subscriptions: 150, slowest_us: 22_750 }) }), "The slowest of 300 subscriptions of news received its last message after 44 ms. 23 ms on news-east (150 subscriptions).");
  assert.equal(words({ "everybody/news": audience({ connected: 100, slowest_us: null }) }), "100 of 300 subscriptions of news are connected. No message delivered yet.");
  assert.equal(words({}), undefined);
});
