/** What the commands about namespaces, topics and schemas will do; `consequences.js` takes them in. */

const them = (clusters) => (clusters ? String(clusters).split(/[\s,]+/).join(", ") : "the clusters you name");

/** @type {Object<string, (command: object) => string[]>} */
export const CREATION_WORDS = {
  "namespace.create": ({ cluster, namespace }) => [`${namespace} exists in ${cluster} with default policies.`],
  "namespace.set-clusters": ({ cluster, namespace, clusters, compareTopicPartitions }) => [
    `From ${cluster}, topics of ${namespace} replicate to ${them(clusters)}; other clusters keep their own lists.`,
    compareTopicPartitions === false ? "Nothing is compared first: topics that differ are refused one by one, when their replicators start." : "Refused with 409 if topics or auto-creation differ between the two sides.",
    clusters && !String(clusters).split(/[\s,]+/).includes(cluster) ? `${cluster} is not in the list: its topics are deleted.` : "",
  ],
  "namespace.set-auto-topic-creation": ({ cluster, namespace }) => [`Clients that connect to a missing topic of ${namespace} in ${cluster} get what this says. Replicators ask nobody's policy.`],
  "namespace.remove-auto-topic-creation": ({ cluster }) => [`The broker settings of ${cluster} count again.`],
  "namespace.set-schema-compatibility-strategy": ({ strategy }) => [`New schemas must be ${strategy ?? "as the strategy says"}. A replicator that is stopped stays stopped until its topic is unloaded.`],
  "namespace.set-is-allow-auto-update-schema": ({ enabled, enableForReplicator }) => [
    enabled ? "Clients may register schemas that are compatible." : "Clients can use only schemas that are there.",
    enableForReplicator === false ? "Replicators too: a new schema at the source stops replication." : "",
  ],
  "topic.create": ({ cluster, topic, partitions, createLocalTopicOnly }) => [
    `${topic ?? "The topic"} begins in ${cluster}${Number(partitions) ? ` with ${partitions} partitions` : " as a plain topic"}.`,
    Number(partitions) && !createLocalTopicOnly ? "The request is copied to the clusters that it replicates to; what goes wrong there is only logged." : "",
  ],
  "topic.delete": ({ cluster, topic, force }) => [
    force ? `Everything of ${topic ?? "the topic"} in ${cluster} is gone: messages, subscriptions, schemas. A replicator of another cluster may create it anew.` : "Refused while replicators or consumers use it.",
  ],
  "topic.update-partitions": ({ cluster, partitions }) => [`${cluster} gets ${partitions ?? "more"} partitions, and the clusters that it replicates to are asked to follow. One that cannot leaves the counts apart.`],
  "topic.set-replication-clusters": ({ cluster, clusters, global }) => [`From ${cluster} the topic replicates to ${them(clusters)}, whatever its namespace says.`, global ? "The policy travels: other clusters take the same list, and one that is not in it deletes the topic." : ""],
  "topic.remove-replication-clusters": ({ cluster }) => [`${cluster} goes by the namespace's list again.`],
  "schema.upload": ({ cluster, schema }) => [`${cluster} knows ${schema ?? "the schema"} if it is compatible, whatever clients may.`],
  "schema.delete": ({ cluster }) => [`${cluster} has no schema for the topic; the next one that is offered is the first.`],
  "producer.use-schema": ({ producer, schema }) => [`Messages of ${producer} carry ${schema || "no schema"} from now on; refused, they fail.`],
};
