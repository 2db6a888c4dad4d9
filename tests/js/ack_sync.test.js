import assert from "node:assert/strict";
import { test } from "node:test";

import { ackSyncOf } from "../../static/js/protocols/pulsar/render/ack_sync.js";

const watched = { topic: "orders", subscription: "billing", lanes: ["blue", "green"] };
const sync = (acknowledged, entries, more = {}) => ({ acknowledged, every_us: 1_000_000, next_us: 5_700_000, peers: { green: { entries, at_us: 4_740_000, on_the_wire: 0, ...more } } });

function lab(subscription, { family = "tenant-migration", controller = null, link = "up" } = {}) {
  const topics = { orders: { controller, replicators: { green: { state: "started" } }, subscriptions: { billing: { replicated: false, ...subscription } } } };
  return { welcome: { family }, view: { clusters: { blue: { topics }, green: { topics: {} } }, links: { "blue -> green": { state: link } } } };
}

test("ack sync lists the synced entries per cluster and whether the link is connected", () => {
  const [row] = ackSyncOf(lab({ sync: sync(476, 459) }), watched).rows;
  assert.deepEqual(row, { from: "blue", to: "green", acknowledged: 476, known: 459, at_us: 4_740_000, next_us: 5_700_000, on_the_wire: 0, connected: true });
  assert.equal(ackSyncOf(lab({ sync: sync(476, 459) }, { link: "cut" }), watched).rows[0].connected, false);
  assert.deepEqual(ackSyncOf(lab({ sync: sync(0, 0) }), watched), { every_us: 1_000_000, rows: [] });
  assert.equal(ackSyncOf(lab({ sync: null }), watched), null);
});
