/** Forms of Pulsar's commands: arguments with their kind, whether they must be given, and what they begin with. */

import { LINK_COMMANDS } from "../../../model/link_commands.js";
import { CREATION_COMMANDS } from "./commands_creation.js";
import { subscriptionsOf, topicsOf } from "./topics.js";

const required = true;
const cluster = { name: "cluster", kind: "cluster", required };
const consumer = { name: "consumer", kind: "consumer", required };
const producer = { name: "producer", kind: "producer", required };
const client = { name: "client", kind: "client", required };
const subscription = { name: "subscription", kind: "subscription", required };
const topic = { name: "topic", kind: "topic", required };
const partition = { name: "topic", kind: "topic-or-partition", required };
const source = { name: "topic", kind: "address", required };
const role = { name: "role", kind: "role" };
const peer = { name: "peer", kind: "cluster" };
const tenant = { name: "tenant", kind: "tenant", required };
const force = { name: "force", kind: "boolean" };
const messages = { name: "messages", kind: "messages" };
const marker = { name: "type", kind: "choice", required, choices: ["snapshot_request", "snapshot_response", "snapshot", "subscription_update"] };

/** @type {Object<string, import("../../../model/commands.js").Command>} */
export const PULSAR_COMMANDS = {
  "cluster.crash": { says: "crash a cluster", arguments: [cluster, { name: "clients", kind: "boolean", begin: true }] },
  "cluster.restart": { says: "restart a crashed cluster", arguments: [cluster] },
  "cluster.lose": { says: "lose a cluster permanently", arguments: [cluster] },
  "topic.unload": { says: "unload a topic from its broker", arguments: [cluster, partition, { name: "broker", kind: "broker" }] },
  "topic.crash": { says: "crash a topic's broker", arguments: [cluster, partition, { name: "downtime", kind: "duration", begin: "1s" }] },
  "topic.terminate": { says: "terminate a topic", arguments: [cluster, partition] },
  "topic.truncate": { says: "truncate a topic", arguments: [cluster, partition] },
  "topic.offload": { says: "offload a topic's closed ledgers", arguments: [cluster, partition, { name: "deleteFromBookies", kind: "boolean" }] },
  "schema.get": { says: "get a topic's schema", arguments: [cluster, topic, { name: "version", kind: "integer" }] },
  "schema.list": { says: "list a topic's schemas", arguments: [cluster, topic] },
  "schema.version": { says: "get the version of a schema", arguments: [cluster, topic, { name: "schema", kind: "schema", required }] },
  "shadow.create": { says: "create a shadow topic", arguments: [cluster, { name: "topic", kind: "address", required }, { name: "source", kind: "address", required }, role] },
  "shadow.delete": { says: "delete a shadow topic", arguments: [cluster, { name: "topic", kind: "address", required }, { name: "force", kind: "boolean" }, role] },
  "shadow.source": { says: "get a shadow topic's source", arguments: [cluster, { name: "topic", kind: "address", required }] },
  "shadow.set": { says: "set a topic's shadow topics", arguments: [cluster, source, { name: "shadows", kind: "addresses", required }, role] },
  "shadow.list": { says: "list a topic's shadow topics", arguments: [cluster, source, role] },
  "shadow.remove": { says: "remove a topic's shadow topics", arguments: [cluster, source, role] },
  "producer.send": { says: "send one message and show the response", arguments: [producer, { name: "position", kind: "position" }, { name: "partition", kind: "integer" }] },
  "topic.grow": { says: "add partitions", arguments: [topic, { name: "partitions", kind: "integer", required }] },
  ...LINK_COMMANDS,
  "marker.delay": { says: "delay the next marker", arguments: [cluster, peer, marker, { name: "by", kind: "duration", required, begin: "500ms" }] },
  "marker.drop": { says: "drop the next marker", arguments: [cluster, peer, marker] },
  "snapshot.finish-partial": { says: "complete pending snapshots with the responses so far (unsafe)", arguments: [cluster, partition] },
  "producer.publish": { says: "publish messages at once", arguments: [producer, { name: "count", kind: "integer", begin: 10 }] },
  "producer.start": { says: "start a producer", arguments: [producer] },
  "producer.stop": { says: "stop a producer", arguments: [producer] },
  "producer.pause": { says: "pause a producer", arguments: [producer] },
  "producer.resume": { says: "resume a producer", arguments: [producer] },
  "producer.slow": { says: "change a producer's rate", arguments: [producer, { name: "every", kind: "duration", required, begin: "500ms" }] },
  "consumer.start": { says: "start a consumer", arguments: [consumer] },
  "consumer.stop": { says: "stop a consumer", arguments: [consumer] },
  "consumer.pause": { says: "pause a consumer", arguments: [consumer] },
  "consumer.resume": { says: "resume a consumer", arguments: [consumer] },
  "consumer.slow": { says: "slow a consumer", arguments: [consumer, { name: "processing", kind: "distribution", required, begin: "200ms" }] },
  "consumer.hold": { says: "hold acknowledgements", arguments: [consumer, messages, { name: "share", kind: "share" }, { name: "for", kind: "duration" }] },
  "consumer.release": { says: "ack held messages", arguments: [consumer, messages] },
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
  "subscription.sync-acknowledgements": { says: "sync ack state to another region", arguments: [subscription, { name: "from", kind: "cluster", required }, { name: "to", kind: "cluster", required }] },
  "subscription.skip": { says: "skip messages", arguments: [subscription, cluster, { name: "count", kind: "integer", required, begin: 10 }] },
  "subscription.clear": { says: "clear a backlog", arguments: [subscription, cluster] },
  "subscription.create": {
    says: "create a subscription",
    arguments: [subscription, cluster, { name: "initialPosition", kind: "choice", choices: ["Latest", "Earliest"] }, { name: "replicated", kind: "boolean" }],
  },
  "subscription.delete": { says: "delete a subscription", arguments: [subscription, cluster] },
  "subscription.replicate": { says: "turn replication of a subscription on or off", arguments: [subscription, cluster, { name: "enabled", kind: "boolean", required, begin: true }, { name: "topic", kind: "topic-or-partition" }] },
  "replication.remove-cluster": { says: "remove a cluster from the replication list", arguments: [topic, cluster] },
  "replication.add-cluster": { says: "add a cluster to the replication list", arguments: [topic, cluster] },
  "setting.change": {
    says: "change a broker setting",
    arguments: [{ name: "cluster", kind: "cluster" }, { name: "setting", kind: "setting-name", required }, { name: "value", kind: "setting-value", required }],
  },
  ...CREATION_COMMANDS,
  "migration.start": {
    says: "start migrating a tenant",
    arguments: [
      tenant,
      { name: "to", kind: "cluster", required },
      { name: "strategy", kind: "choice", choices: ["acknowledgement-sync", "snapshots", "none", "blue-green"], begin: "acknowledgement-sync" },
      { name: "through", kind: "choice", choices: ["metadata", "topic-data", "consumption-progress", "switch", "clean-up"], begin: "consumption-progress" },
      { name: "startAt", kind: "choice", choices: ["earliest", "latest"], begin: "earliest" },
    ],
  },
  "migration.pause": { says: "pause a migration", arguments: [tenant] },
  "migration.resume": { says: "resume a migration", arguments: [tenant] },
  "migration.advance": { says: "start a migration's next step", arguments: [tenant] },
  "migration.switch": { says: "switch a tenant's clients to the new cluster", arguments: [tenant, force] },
  "migration.clean-up": { says: "delete a tenant's resources in the old cluster", arguments: [tenant, force] },
  "migration.roll-back": { says: "roll a migration back", arguments: [tenant] },
  "lookup.stop": { says: "stop the LookupService", arguments: [] },
  "lookup.start": { says: "start the LookupService", arguments: [] },
  "cluster.migrate": { says: "mark a cluster migrated (blue-green)", arguments: [cluster, { name: "migrated", kind: "boolean", begin: true }, { name: "to", kind: "cluster" }] },
  "namespace.migrate": { says: "mark a namespace migrated (blue-green)", arguments: [cluster, { name: "namespace", kind: "namespace", required }, { name: "migrated", kind: "boolean", begin: true }] },
};

/** What an empty field says, by kind of argument. */
export const HINTS = { "setting-name": "Pulsar's own name", namespace: "tenant/namespace", position: "ledger:entry, earliest or latest", messages: "such as web/5, web/7" };

/** @type {Object<string, (state: import("../../../model/state.js").LabState, watched: object) => string[] | null>} what may be chosen, by kind of argument */
export const CHOICES = {
  topic: (state) => namesOf(state).topics ?? topicsOf(state),
  "topic-or-partition": (state) => topicsOf(state),
  broker: (state) => Object.keys(state.view?.brokers ?? {}),
  subscription: (state, watched) => namesOf(state).subscriptions ?? subscriptionsOf(state, watched.topic),
  consumer: (state) => namesOf(state).consumers ?? null,
  tenant: (state) => Object.keys(state.view?.lookup?.tenants ?? {}),
  producer: (state) => namesOf(state).producers ?? Object.keys(state.view?.producers ?? {}),
  client: (state) => [...(namesOf(state).consumers ?? []), ...(namesOf(state).producers ?? [])],
};

const namesOf = (state) => state.welcome?.names ?? {};
