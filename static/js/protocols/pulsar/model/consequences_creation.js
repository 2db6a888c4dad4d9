/** What the commands about namespaces, topics and schemas will do; `consequences.js` includes them. */

const them = (clusters) => (clusters ? String(clusters).split(/[\s,]+/).join(", ") : "the clusters you name");

/** @type {Object<string, (command: object) => string[]>} */
export const CREATION_WORDS = {
  "namespace.create": ({ cluster, namespace }) => [`${namespace} exists in ${cluster} with default policies.`],
  "namespace.set-clusters": ({ cluster, namespace, clusters, compareTopicPartitions }) => [
    `From ${cluster}, topics of ${namespace} replicate to ${them(clusters)}; other clusters keep their own lists.`,
    compareTopicPartitions === false ? "Nothing is compared first: topics that differ are refused one by one when their replicators start." : "Refused with 409 if topics or auto-creation differ between the two sides.",
    clusters && !String(clusters).split(/[\s,]+/).includes(cluster) ? `${cluster} is not in the list: its topics are deleted.` : "",
  ],
  "namespace.set-auto-topic-creation": ({ cluster, namespace }) => [`Clients that connect to a missing topic of ${namespace} in ${cluster} follow this policy. Replicators do not check it.`],
  "namespace.remove-auto-topic-creation": ({ cluster }) => [`The broker settings of ${cluster} apply again.`],
  "namespace.set-schema-compatibility-strategy": ({ strategy }) => [`New schemas must satisfy ${strategy ?? "the strategy"}. A replicator that has stopped stays stopped until its topic is unloaded.`],
  "namespace.set-is-allow-auto-update-schema": ({ enabled, enableForReplicator }) => [
    enabled ? "Clients may register compatible schemas." : "Clients can use existing schemas only.",
    enableForReplicator === false ? "So can replicators: a new schema at the source stops replication." : "",
  ],
  "topic.create": ({ cluster, topic, partitions, createLocalTopicOnly }) => [
    `${topic ?? "The topic"} is created in ${cluster}${Number(partitions) ? ` with ${partitions} partitions` : " as a plain topic"}.`,
    Number(partitions) && !createLocalTopicOnly ? "The request is forwarded to the clusters that it replicates to. Errors there are only logged." : "",
  ],
  "topic.delete": ({ cluster, topic, force }) => [
    force ? `Everything of ${topic ?? "the topic"} in ${cluster} is deleted: messages, subscriptions, schemas. A replicator of another cluster may create it again.` : "Refused while replicators or consumers use it.",
  ],
  "topic.update-partitions": ({ cluster, partitions }) => [`${cluster} gets ${partitions ?? "more"} partitions, and the clusters that it replicates to are requested to follow. If one cannot, the partition counts differ.`],
  "topic.set-replication-clusters": ({ cluster, clusters, global }) => [`From ${cluster} the topic replicates to ${them(clusters)}, whatever its namespace says.`, global ? "The policy is global: other clusters apply the same list, and one that is not in it deletes the topic." : ""],
  "topic.remove-replication-clusters": ({ cluster }) => [`${cluster} uses the namespace's list again.`],
  "schema.upload": ({ cluster, schema }) => [`${cluster} registers ${schema ?? "the schema"} if it is compatible, whether or not clients may register schemas.`],
  "schema.delete": ({ cluster }) => [`${cluster} has no schema for the topic. The next one that is registered becomes its first version.`],
  "producer.use-schema": ({ producer, schema }) => [`Messages of ${producer} use ${schema || "no schema"} from now on. If the schema is refused, publishing fails.`],
};
