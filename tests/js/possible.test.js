import assert from "node:assert/strict";
import { test } from "node:test";

import { commandWords } from "../../static/js/model/commands.js";
import { hasPeers, takesSnapshots } from "../../static/js/protocols/pulsar/transport/failover_dialog.js";

const lab = (family, clusters, topic = {}) => ({
  welcome: { family, names: { clusters } },
  view: { clusters: Object.fromEntries(clusters.map((name) => [name, { topics: { orders: topic } }])) },
});
const snapshotsIn = (state) => takesSnapshots(state, { topic: "orders", clusters: state.welcome.names.clusters });

test("a single cluster has neither peers nor snapshots", () => {
  const alone = lab("replicated-subscriptions", ["a"]);
  assert.deepEqual([hasPeers(alone), snapshotsIn(alone)], [false, false]);
  assert.equal(hasPeers(lab("tenant-migration", ["a", "b"])), true);
});

test("snapshots are possible in their family, and for a topic with a controller or a replicated subscription", () => {
  assert.equal(snapshotsIn(lab("replicated-subscriptions", ["a", "b"])), true);
  assert.equal(snapshotsIn(lab("tenant-migration", ["a", "b"], { subscriptions: { billing: { replicated: false } } })), false);
  assert.equal(snapshotsIn(lab("tenant-migration", ["a", "b"], { subscriptions: { billing: { replicated: true } } })), true);
  assert.equal(snapshotsIn(lab("tenant-migration", ["a", "b"], { controller: { pending: [] } })), true);
});

test("a command's description names required arguments and no optional durations", () => {
  const moved = { failoverDelay_us: 30e6, from: "a", mode: "crash", producers: false, subscription: "billing", switchBack: true, to: "b" };
  const [required, at_will] = [true, false];
  const commands = {
    "subscription.fail-over": { label: "fail over", arguments: [["subscription", required], ["from", required], ["to", required], ["mode", required], ["failoverDelay", at_will, "duration"], ["switchBack", at_will, "boolean"]] },
    "link.slow": { label: "slow a link", arguments: [["link", required], ["latency", required, "duration"]] },
  };
  for (const command of Object.values(commands)) command.arguments = command.arguments.map(([name, is_required, kind = "name"]) => ({ name, kind, required: is_required }));
  const state = { welcome: { tables: { commands } } };
  assert.deepEqual(commandWords(state, "subscription.fail-over", moved), { does: "fail over", to: "billing, a → b, crash" });
  commands["marker.drop"] = { label: "drop the next marker", arguments: [{ name: "from", kind: "cluster", required }, { name: "to", kind: "cluster", required }, { name: "kind", kind: "choice", required, choices: ["snapshot_request"] }] };
  assert.deepEqual(commandWords(state, "marker.drop", { from: "us_west", to: "us-east", kind: "snapshot_request" }), { does: "drop the next marker", to: "us_west → us-east, snapshot request" });
  assert.deepEqual(commandWords(state, "link.slow", { link: "a <-> b", latency_us: 400_000 }), { does: "slow a link", to: "a ↔ b, 400 ms" });
  assert.deepEqual(commandWords(state, "no.such-command", {}), { does: "no.such-command", to: "" });
});
