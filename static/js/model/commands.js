/**
 * Every command that a person may give, as the page's forms need it: arguments with their kind, whether they must be given,
 * and what they begin with. tests/js/test_tables.py asserts that it says what the simulator's own table says.
 */

import { CREATION_COMMANDS } from "../protocols/pulsar/model/commands_creation.js";
import { GROUP_COMMANDS } from "../protocols/emqx/model/commands.js";

const required = true;
const cluster = { name: "cluster", kind: "cluster", required };
const consumer = { name: "consumer", kind: "consumer", required };
const producer = { name: "producer", kind: "producer", required };
const client = { name: "client", kind: "client", required };
const subscription = { name: "subscription", kind: "subscription", required };
const link = { name: "link", kind: "link", required };
const topic = { name: "topic", kind: "topic", required };
const partition = { name: "topic", kind: "topic-or-partition", required };
const source = { name: "topic", kind: "address", required };
const role = { name: "role", kind: "role" };
const peer = { name: "peer", kind: "cluster" };
const tenant = { name: "tenant", kind: "tenant", required };
const force = { name: "force", kind: "boolean" };
const messages = { name: "messages", kind: "messages" };
const marker = { name: "type", kind: "choice", required, choices: ["snapshot_request", "snapshot_response", "snapshot", "subscription_update"] };

/** @typedef {{name: string, kind: string, required?: boolean, choices?: string[], begin?: string | number | boolean}} Argument */
/** @typedef {{says: string, arguments: Argument[]}} Command */

/** @type {Object<string, Command>} */
export const COMMANDS = {
  "cluster.crash": { says: "crash a cluster", arguments: [cluster, { name: "clients", kind: "boolean", begin: true }] },
  "cluster.restart": { says: "restart a crashed cluster", arguments: [cluster] },
  "cluster.lose": { says: "lose a cluster for good", arguments: [cluster] },
  "topic.unload": { says: "unload a topic from its broker", arguments: [cluster, partition, { name: "broker", kind: "broker" }] },
  "topic.crash": { says: "let a topic's broker die", arguments: [cluster, partition, { name: "downtime", kind: "duration", begin: "1s" }] },
  "topic.terminate": { says: "terminate a topic", arguments: [cluster, partition] },
  "topic.truncate": { says: "truncate a topic", arguments: [cluster, partition] },
  "topic.offload": { says: "offload a topic's closed ledgers", arguments: [cluster, partition, { name: "deleteFromBookies", kind: "boolean" }] },
  "schema.get": { says: "ask for a topic's schema", arguments: [cluster, topic, { name: "version", kind: "integer" }] },
  "schema.list": { says: "ask for all schemas of a topic", arguments: [cluster, topic] },
  "schema.version": { says: "ask for a schema's version in a topic", arguments: [cluster, topic, { name: "schema", kind: "schema", required }] },
  "shadow.create": { says: "create a shadow topic", arguments: [cluster, { name: "topic", kind: "address", required }, { name: "source", kind: "address", required }, role] },
  "shadow.delete": { says: "delete a shadow topic", arguments: [cluster, { name: "topic", kind: "address", required }, { name: "force", kind: "boolean" }, role] },
  "shadow.source": { says: "ask for a shadow topic's source", arguments: [cluster, { name: "topic", kind: "address", required }] },
  "shadow.set": { says: "set a topic's list of shadow topics", arguments: [cluster, source, { name: "shadows", kind: "addresses", required }, role] },
  "shadow.list": { says: "ask for a topic's list of shadow topics", arguments: [cluster, source, role] },
  "shadow.remove": { says: "remove a topic's list of shadow topics", arguments: [cluster, source, role] },
  "producer.send": { says: "send one message and hear the answer", arguments: [producer, { name: "position", kind: "position" }, { name: "partition", kind: "integer" }] },
  "topic.grow": { says: "add partitions", arguments: [topic, { name: "partitions", kind: "integer", required }] },
  "link.cut": { says: "cut a link", arguments: [link] },
  "link.heal": { says: "heal a link", arguments: [link] },
  "link.slow": { says: "slow a link", arguments: [link, { name: "latency", kind: "duration", required, begin: "400ms" }] },
  "marker.delay": { says: "delay the next marker", arguments: [cluster, peer, marker, { name: "by", kind: "duration", required, begin: "500ms" }] },
  "marker.drop": { says: "drop the next marker", arguments: [cluster, peer, marker] },
  "snapshot.finish-partial": { says: "finish pending snapshots with the answers at hand (unsafe)", arguments: [cluster, partition] },
  "producer.publish": { says: "publish messages at once", arguments: [producer, { name: "count", kind: "integer", begin: 10 }] },
  "producer.start": { says: "start a producer", arguments: [producer] },
  "producer.stop": { says: "stop a producer", arguments: [producer] },
  "producer.pause": { says: "pause a producer", arguments: [producer] },
  "producer.resume": { says: "let a paused producer go on", arguments: [producer] },
  "producer.slow": { says: "change a producer's pace", arguments: [producer, { name: "every", kind: "duration", required, begin: "500ms" }] },
  "consumer.start": { says: "start a consumer", arguments: [consumer] },
  "consumer.stop": { says: "stop a consumer", arguments: [consumer] },
  "consumer.pause": { says: "pause a consumer", arguments: [consumer] },
  "consumer.resume": { says: "let a paused consumer go on", arguments: [consumer] },
  "consumer.slow": { says: "slow a consumer", arguments: [consumer, { name: "processing", kind: "distribution", required, begin: "200ms" }] },
  "consumer.hold": { says: "hold acknowledgements", arguments: [consumer, messages, { name: "share", kind: "share" }, { name: "for", kind: "duration" }] },
  "consumer.release": { says: "acknowledge what is held", arguments: [consumer, messages] },
  "consumer.negative-acknowledge": { says: "negatively acknowledge", arguments: [consumer, { ...messages, required }] },
  "client.kill": { says: "kill a producer or consumer", arguments: [client] },
  "client.close": { says: "close a producer or consumer cleanly", arguments: [client] },
  "subscription.fail-over": {
    says: "fail over",
    arguments: [
      subscription,
      { name: "from", kind: "cluster", required },
      { name: "to", kind: "cluster", required },
      { name: "mode", kind: "choice", required, choices: ["crash", "planned", "drained", "auto"] },
      { name: "producers", kind: "boolean" },
      { name: "limit", kind: "duration" },
      { name: "stop-producers", kind: "boolean" },
      { name: "probeInterval", kind: "duration" },
      { name: "failoverDelay", kind: "duration" },
      { name: "switchBackDelay", kind: "duration" },
      { name: "switchBack", kind: "boolean", begin: true },
    ],
  },
  "subscription.reset": { says: "reset a cursor", arguments: [subscription, cluster, { name: "position", kind: "position" }, { name: "time", kind: "duration" }] },
  "subscription.sync-acknowledgements": { says: "tell another region what is acknowledged", arguments: [subscription, { name: "from", kind: "cluster", required }, { name: "to", kind: "cluster", required }] },
  "subscription.skip": { says: "skip messages", arguments: [subscription, cluster, { name: "count", kind: "integer", required, begin: 10 }] },
  "subscription.clear": { says: "clear a backlog", arguments: [subscription, cluster] },
  "subscription.create": {
    says: "create a subscription",
    arguments: [subscription, cluster, { name: "initialPosition", kind: "choice", choices: ["Latest", "Earliest"] }, { name: "replicated", kind: "boolean" }],
  },
  "subscription.delete": { says: "delete a subscription", arguments: [subscription, cluster] },
  "subscription.replicate": { says: "switch replication of a subscription", arguments: [subscription, cluster, { name: "enabled", kind: "boolean", required, begin: true }, { name: "topic", kind: "topic-or-partition" }] },
  "replication.remove-cluster": { says: "take a cluster off the replication list", arguments: [topic, cluster] },
  "replication.add-cluster": { says: "put a cluster on the replication list", arguments: [topic, cluster] },
  "setting.change": {
    says: "change a broker setting",
    arguments: [{ name: "cluster", kind: "cluster" }, { name: "setting", kind: "setting-name", required }, { name: "value", kind: "setting-value", required }],
  },
  ...CREATION_COMMANDS,
  ...GROUP_COMMANDS,
  "migration.start": {
    says: "begin to move a tenant",
    arguments: [
      tenant,
      { name: "to", kind: "cluster", required },
      { name: "strategy", kind: "choice", choices: ["acknowledgement-sync", "snapshots", "none", "blue-green"], begin: "acknowledgement-sync" },
      { name: "through", kind: "choice", choices: ["metadata", "topic-data", "consumption-progress", "switch", "clean-up"], begin: "consumption-progress" },
      { name: "startAt", kind: "choice", choices: ["earliest", "latest"], begin: "earliest" },
    ],
  },
  "migration.pause": { says: "pause a migration", arguments: [tenant] },
  "migration.resume": { says: "let a migration go on", arguments: [tenant] },
  "migration.advance": { says: "begin a migration's next step", arguments: [tenant] },
  "migration.switch": { says: "send a tenant's clients to the new cluster", arguments: [tenant, force] },
  "migration.clean-up": { says: "delete a tenant's resources in the old cluster", arguments: [tenant, force] },
  "migration.roll-back": { says: "take a migration back", arguments: [tenant] },
  "lookup.stop": { says: "stop the LookupService", arguments: [] },
  "lookup.start": { says: "start the LookupService", arguments: [] },
  "cluster.migrate": { says: "mark a cluster migrated (blue-green)", arguments: [cluster, { name: "migrated", kind: "boolean", begin: true }, { name: "to", kind: "cluster" }] },
  "namespace.migrate": { says: "mark a namespace migrated (blue-green)", arguments: [cluster, { name: "namespace", kind: "namespace", required }, { name: "migrated", kind: "boolean", begin: true }] },
};

/**
 * A command out of a form's texts: empty ones are left out, numbers and lists become what they are.
 * @param {string} name
 * @param {Object<string, string | boolean>} given
 * @returns {object} as the socket takes it
 */
export function commandOf(name, given) {
  const command = { do: name };
  for (const argument of COMMANDS[name].arguments) {
    const value = given[argument.name];
    if (value === undefined || value === "" || (value === false && !argument.required && argument.begin === undefined)) continue;
    command[argument.name] = valueOf(argument.kind, value);
  }
  return command;
}

function valueOf(kind, value) {
  if (kind === "integer") return Number.isFinite(Number(value)) ? Number(value) : value;
  if (["messages", "names", "addresses"].includes(kind)) return String(value).split(/[\s,]+/).filter(Boolean);
  if (kind === "setting-value" && /^(true|false)$/.test(value)) return value === "true";
  if (kind === "setting-value" && /^-?\d+$/.test(value)) return Number(value);
  return value;
}
