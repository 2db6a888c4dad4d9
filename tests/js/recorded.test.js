/** What the page says about a recorded run, and the menus that are left of commands. */

import assert from "node:assert/strict";
import test from "node:test";
import { originOf, recordedIn, refusalOf, withoutCommands } from "../../static/js/model/state.js";
import { pulsarSentence, secondSentence } from "../../static/js/protocols/pulsar/model/sentence.js";

const recorded = { system: "Pulsar 4.2.4", date: "2026-11-23", measured: [], inferred: [] };

test("a recorded run names system and date, also in its refusal", () => {
  assert.equal(originOf(recorded), "Recorded on real brokers: Pulsar 4.2.4, 2026-11-23.");
  assert.match(refusalOf(recorded), /^This run was recorded on real brokers \(Pulsar 4\.2\.4, 2026-11-23\)\. It can be played/);
});

test("without its file it only says that it was recorded", () => {
  const missing = { system: "", date: "", measured: [], inferred: [] };
  assert.equal(originOf(missing), "Recorded on real brokers.");
  assert.equal(refusalOf(missing), "This run was recorded on real brokers. It can be played and searched, but takes no commands.");
});

test("a simulated run is none", () => {
  assert.equal(recordedIn({ welcome: null }), null);
  assert.equal(recordedIn({ welcome: { recorded: null } }), null);
  assert.equal(recordedIn({ welcome: { recorded } }), recorded);
});

test("of a menu only what shows something is left, and groups without that are gone", () => {
  const look = { says: "Inspect", look: { marker: 3 } };
  const groups = [{ title: "us-west", items: [{ says: "Crash now", command: {} }] }, { title: "marker 3", items: [look, { says: "Drop it", command: {} }] }];
  assert.deepEqual(withoutCommands(groups), [{ title: "marker 3", items: [look] }]);
});

test("before a failover the headline promises no forecast, and after one there is no second line", () => {
  const topic = { subscriptions: { billing: {} } };
  const view = { clusters: { a: { state: "up", topics: { orders: topic } }, b: { state: "up", topics: { orders: topic } } }, forecast: {}, failovers: [], sentence: null };
  const watched = { topic: "orders", subscription: "billing", subject: "a", target: null, clusters: ["a", "b"], lanes: ["a", "b"], peers: [] };
  const state = { welcome: { recorded }, view };
  assert.deepEqual(pulsarSentence(state, watched).at(-1), { soft: "A recorded run has no forecast." });
  assert.equal(secondSentence({ ...state, view: { ...view, failovers: [{ subscription: "billing" }] } }, watched), null);
});
