import assert from "node:assert/strict";
import { test } from "node:test";

import { actionsOf, migrationSentence, placesOf, placesWords, progressOf, restSentence, shownMigration, stepFacts, stepWords, tenantMap } from "../../static/js/protocols/pulsar/pages/migration_panel.js";

const step = (name, state, more = {}) => ({ name, state, attempts: 1, started_us: null, finished_us: null, error: null, progress: null, ...more });
const NAMES = ["metadata", "topic-data", "consumption-progress", "switch", "clean-up"];

/** A migration that waits before its switch, with the given changes. */
function migration(more = {}) {
  return {
    tenant: "acme", from: "blue", to: "green", strategy: "acknowledgement-sync", state: "waiting", at: "switch", way_back: null, switched_at_us: null,
    steps: NAMES.map((name, place) => step(name, place < 3 ? "done" : "waiting")), waits_for: [{ holds: true, words: "all is well" }],
    cost: { sum: { duplicates: 31, redeliveries: 1, stranded: 4, lost: 0 }, subscriptions: {} }, ...more,
  };
}

const words_of = (one) => migrationSentence(one).map((part) => (typeof part === "string" ? part : (part.strong ?? part.harm ?? part.soft))).join("");
const asked = (one) => actionsOf(one).map(({ command }) => [command.do, command.force ?? false].join(" "));

test("the newest migration of the chosen tenant is shown, else the newest of all", () => {
  const state = { view: { migrations: [migration({ tenant: "a" }), migration({ tenant: "b" })], lookup: { tenants: { a: "blue", b: "green" } } } };
  assert.equal(shownMigration(state, "a").tenant, "a");
  assert.equal(shownMigration(state, null).tenant, "b");
  assert.equal(shownMigration({ view: { migrations: [] } }, null), null);
  assert.deepEqual(tenantMap(state), [["a", "blue"], ["b", "green"]]);
});

test("the headline contains the migration's state and the cost of a switch now", () => {
  assert.equal(words_of(migration()), "acme moves from blue to green: step 4, switch, waits: it is safe to switch. A switch now would cause 31 duplicates, 4 not replicated, 0 lost.");
  assert.match(words_of(migration({ waits_for: [{ holds: false, words: "x" }] })), /waits for 1 condition/);
  const failed = NAMES.map((name) => step(name, name === "topic-data" ? "failed" : "done", { error: "the link is cut: 5 of 9 entries are copied" }));
  assert.equal(words_of(migration({ state: "failed", at: "topic-data", steps: failed, cost: null })), "acme moves from blue to green: step 2, topic data, failed: the link is cut: 5 of 9 entries are copied.");
  assert.equal(words_of(migration({ state: "finished", at: "clean-up" })), "acme is in green. Nothing is left in blue.");
  assert.match(words_of(migration({ state: "rolled-back" })), /acme is back in blue/);
});

test("the offered commands depend on the state, and an unsafe switch is marked as harm", () => {
  assert.deepEqual(asked(migration()), ["migration.switch false", "migration.pause false", "migration.roll-back false"]);
  assert.deepEqual(asked(migration({ waits_for: [{ holds: false, words: "x" }] })), ["migration.switch true", "migration.pause false", "migration.roll-back false"]);
  assert.deepEqual(asked(migration({ state: "failed", at: "topic-data" })), ["migration.resume false", "migration.switch true", "migration.roll-back false"]);
  assert.deepEqual(asked(migration({ at: "clean-up", switched_at_us: 5 })), ["migration.clean-up false", "migration.pause false", "migration.roll-back false"]);
  assert.deepEqual(asked(migration({ at: "clean-up", switched_at_us: 5, state: "running", way_back: "clean-up has begun" })), ["migration.pause false"]);
  for (const state of ["finished", "rolled-back", "rolling-back"]) assert.deepEqual(asked(migration({ state })), []);
  assert.equal(actionsOf(migration({ waits_for: [{ holds: false, words: "x" }] }))[0].harm, true);
});

test("a step's description, facts and progress depend on its state and strategy", () => {
  assert.deepEqual(stepWords("switch", "acknowledgement-sync"), ["Switch", "the LookupService's map is changed, then topics are unloaded so that clients look up again"]);
  assert.deepEqual(stepWords("switch", "blue-green"), ["Switch", "topics are terminated; each client is redirected when its subscription is drained"]);
  assert.match(stepWords("consumption-progress", "snapshots")[1], /snapshots carry the mark-delete position/);
  assert.deepEqual(stepWords("topic-data", "none"), stepWords("topic-data", "acknowledgement-sync"));
  assert.equal(stepFacts(step("metadata", "done", { started_us: 1_000_000, finished_us: 1_500_000, attempts: 2 })), "done, 1.00 to 1.50 s, 2 attempts");
  assert.equal(stepFacts(step("switch", "running", { started_us: 5_000_000, finished_us: null, attempts: 1 })), "running since 5.00 s");
  assert.equal(stepFacts(step("topic-data", "failed", { started_us: 1_700_000, finished_us: null, attempts: 1 })), "failed, started at 1.70 s");
  assert.equal(stepFacts(step("metadata", "undone", { started_us: 1_000_000, finished_us: 13_100_000, attempts: 1 })), "rolled back at 13.10 s");
  assert.equal(stepFacts(step("switch", "waiting", { attempts: 0 })), "not started");
  assert.deepEqual(progressOf(step("metadata", "running", { progress: { done: 2, total: 5, unit: "resources" } })), { share: 0.4, words: "2 of 5 resources" });
  assert.deepEqual(progressOf(step("metadata", "done", { progress: { done: 5, total: 5, unit: "resources" } })), { share: null, words: "5 resources" });
  assert.deepEqual(progressOf(step("topic-data", "failed", { progress: { done: 0, total: 1, unit: "entries" } })), { share: 0, words: "0 of 1 entry" });
  assert.deepEqual(progressOf(step("consumption-progress", "done", { progress: { done: 1, total: 1, unit: "subscriptions" } })), { share: null, words: "1 subscription" });
  assert.equal(progressOf(step("topic-data", "skipped", { progress: { done: 0, total: 5, unit: "entries" } })), null);
});

test("a tenant's clients are located with and without a migration, including those without a broker", () => {
  const clients = { acme: { connected: { blue: ["web", "both"], green: ["both"] }, nowhere: { late: 0, refused: 3 } } };
  const state = { view: { clusters: { blue: {}, green: {}, other: {} }, lookup: { up: true, tenants: { acme: "blue" }, clients } } };
  const nowhere = [["late", 0], ["refused", 3]];
  assert.deepEqual(placesOf(state, "acme"), { tenant: "acme", mapped: "blue", from: "blue", to: "green", source: ["web", "both"], target: ["both"], nowhere });
  assert.deepEqual(placesOf(state, "acme", migration({ to: "other" })), { tenant: "acme", mapped: "blue", from: "blue", to: "other", source: ["web", "both"], target: [], nowhere });
  assert.equal(placesOf({ view: { ...state.view, clusters: { blue: {} } } }, "acme").to, null);
  assert.equal(placesWords(placesOf(state, "acme")), "Clients: 2 connected in blue, 1 in green, 2 without a broker: late, refused (3 failed lookups).");
  const words = (given) => restSentence(given).map((part) => part.harm ?? part).join("");
  assert.equal(words(state), "No migration is running. LookupService: acme is in blue.");
  const down = { view: { ...state.view, lookup: { ...state.view.lookup, up: false } } };
  assert.equal(words(down), "No migration is running. acme is in blue. The LookupService is down: 2 clients without a broker; connected clients are not affected.");
  const none_connected = { view: { ...down.view, lookup: { ...down.view.lookup, clients: { acme: { connected: {}, nowhere: {} } } } } };
  assert.equal(words(none_connected), "No migration is running. acme is in blue. The LookupService is down: connected clients are not affected.");
});
