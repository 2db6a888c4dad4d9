/** The sentence of a marker in the inspector. */

import assert from "node:assert/strict";
import test from "node:test";
import { markerSentence } from "../../static/js/protocols/pulsar/render/looks.js";
import { cursor, topic, view, welcome } from "./fixtures/lab.js";

const watched = { topic: "orders", subscription: "billing" };
const place = (cluster, ledger_id, entry_id) => ({ cluster, message_id: { ledger_id, entry_id } });
const json = JSON.stringify({ snapshot_id: "X", local_message_id: { ledger_id: 7655, entry_id: 128 }, clusters: [place("b", 1234, 114), place("c", 192, 2 ** 64 - 1)] });
const marker = { type: "snapshot", cluster: "a", snapshot: 1, subscription: null, json };

function stateWith({ replicated = true, kept = {} } = {}) {
  const subscriptions = { billing: cursor({ replicated }) };
  return { welcome: welcome(), view: view({ a: topic(9, subscriptions), b: topic(9, subscriptions) }, { snapshot_regions: { 0: "a" } }), snapshots: new Map([[1, { kept }]]) };
}

test("a snapshot says which positions correspond, and what it takes to use them", () => {
  assert.equal(markerSentence(marker, stateWith(), watched), "a 7655:128 corresponds to b 1234:114 and c 192:-1. Once billing's mark-delete passes it in a, its cursors there may move.");
});

test("a snapshot that is used, evicted or of no use says so", () => {
  const said = (given) => markerSentence(marker, stateWith(given), watched).split(". ")[1];
  assert.equal(said({ kept: { billing: { state: "used" } } }), "billing's mark-delete has passed it in a: an update moves its cursors there.");
  assert.equal(said({ kept: { billing: { state: "evicted" } } }), "It left the cache of billing unused, so no cursor moves with it.");
  assert.equal(said({ replicated: false }), "billing is not replicated in a, so no cursor moves with it.");
  assert.match(markerSentence(marker, stateWith(), { topic: "orders", subscription: "other" }), /a has no subscription other that could use it\.$/);
});

test("requests, responses and updates have sentences, too", () => {
  const request = { type: "snapshot_request", cluster: "a", snapshot: 1, json: JSON.stringify({ ReplicatedSubscriptionsSnapshotRequest: { snapshot_id: "X", source_cluster: "a" } }) };
  assert.equal(markerSentence(request, stateWith(), watched), "a asks the other regions for their positions, for its snapshot S1.");
  const response = { type: "snapshot_response", cluster: "b", snapshot: 1, json: JSON.stringify({ ReplicatedSubscriptionsSnapshotResponse: { snapshot_id: "X", cluster: place("b", 1234, 15) } }) };
  assert.equal(markerSentence(response, stateWith(), watched), "b answers a's S1: its position is 1234:15.");
  const update = { type: "subscription_update", cluster: "a", snapshot: 1, subscription: "billing", json: JSON.stringify({ subscription_name: "billing", clusters: [place("b", 1234, 15)] }) };
  assert.equal(markerSentence(update, stateWith(), watched), "a has acknowledged billing up to its position of its snapshot S1. The mark-delete of billing may move to 1234:15 in b.");
  const listing = { ...update, snapshot: null, carried: 12, json: JSON.stringify({ subscription_name: "billing" }) };
  assert.equal(markerSentence(listing, stateWith(), watched), "a publishes an update of billing that names no position. Its rule added 12 numbers.");
});
