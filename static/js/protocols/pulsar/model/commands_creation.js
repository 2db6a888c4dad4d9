/** Commands about namespaces, topics and schemas of one cluster; `commands.js` includes them. */

const required = true;
const cluster = { name: "cluster", kind: "cluster", required };
const namespace = { name: "namespace", kind: "namespace", required, begin: "public/default" };
const topic = { name: "topic", kind: "topic", required };
const listed = { name: "clusters", kind: "names", required };
const types = ["non-partitioned", "partitioned"];
const strategies = ["FULL", "BACKWARD", "FORWARD", "FULL_TRANSITIVE", "BACKWARD_TRANSITIVE", "FORWARD_TRANSITIVE", "ALWAYS_COMPATIBLE", "ALWAYS_INCOMPATIBLE"];

/** @type {Object<string, import("../../../model/commands.js").Command>} */
export const CREATION_COMMANDS = {
  "namespace.create": { says: "create a namespace", arguments: [cluster, namespace] },
  "namespace.set-clusters": { says: "set a namespace's replication clusters", arguments: [cluster, namespace, listed, { name: "compareTopicPartitions", kind: "boolean", begin: true }] },
  "namespace.set-auto-topic-creation": {
    says: "set a namespace's auto topic creation",
    arguments: [cluster, namespace, { name: "allowAutoTopicCreation", kind: "boolean", begin: true }, { name: "allowAutoTopicCreationType", kind: "choice", choices: types }, { name: "defaultNumPartitions", kind: "integer" }],
  },
  "namespace.remove-auto-topic-creation": { says: "remove a namespace's auto topic creation", arguments: [cluster, namespace] },
  "namespace.set-schema-compatibility-strategy": { says: "set a schema compatibility strategy", arguments: [cluster, namespace, { name: "strategy", kind: "choice", required, choices: strategies }] },
  "namespace.set-is-allow-auto-update-schema": {
    says: "allow or forbid schema updates by clients",
    arguments: [cluster, namespace, { name: "enabled", kind: "boolean", required, begin: true }, { name: "enableForReplicator", kind: "boolean", begin: true }],
  },
  "topic.create": {
    says: "create a topic",
    arguments: [cluster, topic, { name: "partitions", kind: "integer", begin: 0 }, { name: "createLocalTopicOnly", kind: "boolean" }],
  },
  "topic.delete": { says: "delete a topic", arguments: [cluster, topic, { name: "force", kind: "boolean" }] },
  "topic.update-partitions": { says: "add partitions in one cluster", arguments: [cluster, topic, { name: "partitions", kind: "integer", required }] },
  "topic.set-replication-clusters": { says: "give a topic its own replication list", arguments: [cluster, topic, listed, { name: "global", kind: "boolean" }] },
  "topic.remove-replication-clusters": { says: "remove a topic's own replication list", arguments: [cluster, topic, { name: "global", kind: "boolean" }] },
  "schema.upload": { says: "register a schema", arguments: [cluster, topic, { name: "schema", kind: "schema", required }] },
  "schema.delete": { says: "delete a topic's schemas", arguments: [cluster, topic] },
  "producer.use-schema": { says: "change a producer's schema", arguments: [{ name: "producer", kind: "producer", required }, { name: "schema", kind: "schema" }] },
};
