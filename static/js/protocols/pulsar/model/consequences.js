/**
 * What a command of Pulsar will do, before it is given, from the current state: which clients are affected, what is lost with them, and
 * the forecast of a failover now. Figures are the engine's own; nothing is estimated here.
 */

import { counted } from "../../../model/format.js";
import { CREATION_WORDS } from "./consequences_creation.js";
import { topicView } from "./topics.js";

/** @type {Object<string, (command: object, state: import("../../../model/state.js").LabState, watched: object) => string[]>} */
export const PULSAR_CONSEQUENCES = {
  "cluster.crash": (command, state, watched) =>
    [
      `${command.cluster} stops at once. What its brokers had not written and what is in flight is lost.`,
      command.clients === false ? "Its clients keep running and cannot reach it." : consumersLost(command.cluster, state, watched),
      snapshotsStop(command.cluster, state, watched),
      forecastWords(command.cluster, state, watched),
    ],
  "cluster.lose": (command, state, watched) => [`${command.cluster} is lost permanently, with every message that only it had.`, consumersLost(command.cluster, state, watched), forecastWords(command.cluster, state, watched)],
  "cluster.restart": ({ cluster }) => [`${cluster} restarts with what it had written. Replicators reconnect and send what is missing; snapshots continue.`],
  "topic.unload": ({ cluster, topic, broker }) => [`The broker of ${cluster} unloads ${topic} and ${broker ? `${broker} loads it` : "another broker loads it"}: consumers reconnect, their unacked messages are redelivered, and the cached snapshots are lost.`],
  "topic.crash": ({ cluster, topic, downtime }) => [`The broker of ${cluster} that serves ${topic} crashes; ${downtime ? `after ${downtime} ` : ""}another broker loads the topic with what was written. Its shadow topics are not notified of entries stored in between.`],
  "topic.terminate": ({ topic }) => [`${topic} accepts no more messages. What it holds can still be read.`],
  "topic.truncate": ({ topic }) => [`Every cursor of ${topic} moves to the end, and all its ledgers except the open one are deleted, also for its shadow topics.`],
  "topic.offload": ({ topic, deleteFromBookies }) => [`${topic}'s closed ledgers are copied to other storage${deleteFromBookies ? " and deleted from the bookies: a cluster with another offload driver can no longer read them" : ""}.`],
  "schema.get": ({ topic }) => [`Nothing changes: the answer is the schema of ${topic}, or of its source topic if it is a shadow topic.`],
  "schema.list": ({ topic }) => [`Nothing changes: the answer lists the schemas of ${topic}, or of its source topic if it is a shadow topic.`],
  "schema.version": ({ topic, schema }) => [`Nothing changes: the answer is the version that ${schema ?? "the schema"} has in ${topic}.`],
  "shadow.create": ({ topic, source }) => [`${topic ?? "The shadow topic"} reads the ledgers of ${source ?? "its source"}. Until it is on the source's list of shadow topics, it sees closed ledgers only.`],
  "shadow.delete": ({ topic }) => [`${topic ?? "The shadow topic"} is deleted with its subscriptions. The ledgers stay, because they belong to its source.`],
  "shadow.source": () => ["Nothing changes: the answer is its source topic."],
  "shadow.set": ({ topic, shadows }) => [`${topic} notifies ${shadows ?? "the listed shadow topics"} of every entry from now on, by position. They are not notified of entries stored before.`],
  "shadow.list": ({ topic }) => [`Nothing changes: the answer is the list of shadow topics that ${topic} notifies.`],
  "shadow.remove": ({ topic }) => [`${topic} has no shadow topics on its list any more. In released brokers its replicators continue until the topic is unloaded.`],
  "producer.send": ({ producer, position }) => [position ? `${producer} sends a message with position ${position}. Only a shadow topic accepts that, and does not check it.` : `${producer} sends one message; a shadow topic refuses it.`],
  "topic.grow": ({ topic }) => [`${topic ?? "The topic"} gets more partitions. Keys may map to other partitions from then on, and each new partition has its own snapshots.`],
  "link.cut": ({ link }, state, watched) => [`Nothing crosses ${link ?? "the link"} any more. What is in flight is lost, and sent again after the link is healed.`, snapshotsNeedAll(state, watched)],
  "link.heal": ({ link }) => [`${link ?? "The link"} works again: replicators reconnect and continue after the last confirmed entry.`],
  "link.slow": ({ link, latency }) => [`Everything on ${link ?? "the link"} takes ${latency ?? "longer"}; order is kept. Snapshots take longer by as much, and one that exceeds the snapshot timeout does not complete.`],
  "marker.delay": (command) => [`The next ${kindOf(command)} that leaves ${command.cluster} arrives ${command.by ? `${command.by} later` : "later"}. What follows it on that connection waits, too.`],
  "marker.drop": (command) => [`The next ${kindOf(command)} that leaves ${command.cluster} never arrives. Real links do not lose single markers: this shows what the marker is for.`],
  "snapshot.finish-partial": () => ["Pending snapshots complete with the responses received so far. Unsafe: an update may move a cursor past messages that no consumer has processed."],
  "producer.publish": ({ producer, count }) => [`${producer} publishes ${count ?? 10} messages at this instant, in addition to its rate.`],
  "producer.start": ({ producer }) => [`${producer} starts to publish at its rate.`],
  "producer.stop": ({ producer }) => [`${producer} stops publishing. What it has sent is still stored and replicated.`],
  "producer.pause": ({ producer }) => [`${producer} publishes nothing until it is resumed. Without new messages no snapshot is requested.`],
  "producer.resume": ({ producer }) => [`${producer} publishes at its rate again.`],
  "producer.slow": ({ producer, every }) => [`${producer} publishes one message every ${every ?? "interval"} from now on.`],
  "consumer.start": ({ consumer }) => [`${consumer} subscribes and receives the backlog.`],
  "consumer.stop": ({ consumer }) => [`${consumer} disconnects. Its unacked messages go to other consumers or wait.`],
  "consumer.pause": ({ consumer }) => [`${consumer} processes nothing: its receiver queue fills, the mark-delete position stops, and snapshots above it cannot be applied.`],
  "consumer.resume": ({ consumer }) => [`${consumer} continues with its receiver queue.`],
  "consumer.slow": ({ consumer, processing }) => [`${consumer} takes ${processing ?? "longer"} for each message. The mark-delete position falls behind, so a failover delivers more duplicates.`],
  "consumer.hold": ({ consumer }) => [`${consumer} processes the selected messages and does not ack them. The first held message stops the mark-delete position: no snapshot above it can be applied, and after a failover everything above it is a duplicate.`],
  "consumer.release": ({ consumer }) => [`${consumer} acks the held messages. The mark-delete position jumps and may pass cached snapshots.`],
  "consumer.negative-acknowledge": ({ consumer }) => [`${consumer} negatively acknowledges these messages. They are redelivered after its redelivery delay.`],
  "client.kill": ({ client }, state, watched) => [`${client} is killed: acks that it had not sent are lost.`, inHandOf(client, state, watched)],
  "client.close": ({ client }) => [`${client} sends its pending acks and disconnects. Only what it had not processed is redelivered.`],
  "subscription.fail-over": (command, state, watched) =>
    command.mode === undefined || command.mode === "crash"
      ? [`Consumers of ${command.subscription} continue in ${command.to} at once, from the cursor there.`, forecastWords(command.from, state, watched, command.to)]
      : [{ planned: "Consumers finish what they have received, close, and reconnect there. What no update has synced to the target is delivered as duplicates.", drained: "Consumers move when the target's cursor has caught up or the limit has passed.", auto: "Clients probe their region and move by themselves when it has not answered for long enough." }[command.mode] ?? ""],
  "subscription.reset": ({ subscription, cluster }) => [`The cursor of ${subscription} in ${cluster} is reset. Backward, messages are redelivered; forward, they are never delivered. Cached snapshots are lost.`],
  "subscription.sync-acknowledgements": ({ from, to }) => [`${from} sends ${to} every acked message, and ${to} does not deliver those.`, "Acks after this instant are not synced."],
  "subscription.skip": ({ cluster }) => [`The next messages in ${cluster} are skipped without being read. They count as skipped, not as lost.`],
  "subscription.clear": ({ subscription, cluster }, state, watched) => [`${counted(topicView(state, cluster, watched.topic)?.subscriptions?.[subscription]?.backlog ?? 0, "entry", "entries")} of ${subscription} in ${cluster} are skipped without being read.`],
  "subscription.create": ({ subscription, cluster, initialPosition }) => [`${subscription ?? "The subscription"} starts in ${cluster} at the ${initialPosition === "Earliest" ? "oldest retained message" : "next message. Messages stored before are not delivered to it"}.`],
  "subscription.delete": ({ subscription, cluster }) => [`${subscription} and its cursor are deleted in ${cluster}. An update from another region creates it again at the update's position.`],
  "subscription.replicate": ({ subscription, cluster, enabled }) => [enabled ? `${cluster} replicates ${subscription}: it caches snapshots and publishes updates.` : `${cluster} publishes no more updates for ${subscription}. The other regions' cursors stop, and after a failover everything since then is a duplicate.`],
  "replication.remove-cluster": ({ cluster }) => [`${cluster} receives no more messages and markers. Snapshots of the other regions no longer wait for it.`],
  "replication.add-cluster": ({ cluster }) => [`${cluster} receives messages from now on, and snapshots wait for its response, too.`],
  "migration.start": ({ tenant, to, strategy }) => [
    `The namespaces and topics of ${tenant ?? "the tenant"} are created in ${to ?? "the new cluster"}, then messages and ack state are copied there. Its clients stay until the switch.`,
    strategy === "blue-green" ? "Blue-green: nothing is copied. Old messages are read in the old cluster, new ones are published in the new cluster, and it cannot be rolled back." : "",
    strategy === "none" ? "Ack state is not synced: every old message is delivered again as a duplicate." : "",
  ],
  "migration.pause": ({ tenant }) => [`The current step pauses; copying and syncing that has started continues. ${tenant ?? "The tenant"} can be rolled back from here.`],
  "migration.resume": ({ tenant }) => [`The migration of ${tenant ?? "the tenant"} continues with what is missing. After a failure this is another attempt.`],
  "migration.advance": ({ tenant }, state) => [`The next step of ${tenant ?? "the tenant"} begins if its preconditions hold.`, costWords(tenant, state)],
  "migration.switch": ({ tenant, force }, state) => [
    `The LookupService sends the clients of ${tenant ?? "the tenant"} to the new cluster. Topics are unloaded, so that clients look them up again.`,
    force ? "Forced: it does not wait for messages and ack state that are not copied yet." : "",
    costWords(tenant, state),
  ],
  "migration.clean-up": ({ tenant, force }) => [`Everything of ${tenant ?? "the tenant"} in the old cluster is deleted. It cannot be rolled back afterwards.`, force ? "Forced: messages that only the old cluster has are lost, even if a subscription still needs them." : ""],
  "migration.roll-back": ({ tenant }) => [`Clients of ${tenant ?? "the tenant"} return to the old cluster. What they published and acked in the new one is copied back before the new one is cleaned up.`],
  "lookup.stop": () => ["Connected clients stay. New clients, and those that lose their broker, get no answer and retry with increasing backoff."],
  "lookup.start": () => ["Lookups are answered again, for each client at its next retry."],
  "cluster.migrate": ({ cluster, migrated, to }) => [
    migrated === false ? `${cluster ?? "The cluster"} is no longer marked as migrated. Topics that were terminated stay terminated.` : `At their next check the topics of ${cluster ?? "the cluster"} accept no more messages, and clients are redirected to ${to ?? "the green cluster"} as their subscriptions are drained.`,
  ],
  "namespace.migrate": ({ cluster, namespace, migrated }) => [
    migrated === false ? `${namespace ?? "The namespace"} is no longer marked as migrated. Topics that were terminated stay terminated.` : `At their next check the topics of ${namespace ?? "the namespace"} in ${cluster ?? "the cluster"} accept no more messages, and clients are redirected as their subscriptions are drained.`,
  ],
  "setting.change": ({ setting, value }) => [`${setting ?? "The setting"} becomes ${value ?? "another value"} without a restart.`],
  ...CREATION_WORDS,
};

const kindOf = (command) => (command.type ?? "marker").replace("subscription_", "").replace(/_/g, " ") + (command.peer ? ` for ${command.peer}` : "");

function consumersOf(cluster, state, watched) {
  return Object.entries(topicView(state, cluster, watched.topic)?.subscriptions?.[watched.subscription]?.consumers ?? {});
}

function consumersLost(cluster, state, watched) {
  const consumers = consumersOf(cluster, state, watched);
  if (consumers.length === 0) return "";
  const held = consumers.reduce((sum, [, one]) => sum + one.in_hand.length + one.queued, 0);
  const names = consumers.map(([name]) => name);
  const who = `${names.slice(0, 3).join(", ")}${names.length > 3 ? " and others" : ""}`;
  return `${who} ${names.length === 1 ? "is" : "are"} killed with it, with ${counted(held, "message")} unacked or queued.`;
}

function inHandOf(client, state, watched) {
  const found = watched.clusters.flatMap((cluster) => consumersOf(cluster, state, watched)).find(([name]) => name === client)?.[1];
  return found ? `${counted(found.in_hand.length + found.queued, "message")} that it had received go to other consumers or wait.` : "";
}

function snapshotsNeedAll(state, watched) {
  return watched.clusters.length > 1 && watched.subscription ? "One missing connection stops all snapshots of the topic." : "";
}

function snapshotsStop(cluster, state, watched) {
  return watched.clusters.includes(cluster) ? snapshotsNeedAll(state, watched) : "";
}

function costWords(tenant, state) {
  const run = (state.view?.migrations ?? []).findLast((one) => one.tenant === tenant);
  const cost = run?.cost?.sum;
  if (!cost || run.switched_at_us !== null) return "";
  return `At this instant: ${counted(cost.duplicates, "duplicate")}, ${cost.stranded} not copied yet, ${cost.lost} lost.`;
}

function forecastWords(from, state, watched, to = watched.target) {
  const figures = state.view?.forecast?.[watched.subscription];
  const one = figures?.from === from ? figures.to[to] : null;
  if (!one) return "";
  return `If ${watched.subscription} then moved to ${to}: ${counted(one.duplicates, "duplicate")}, ${one.stranded} not replicated, ${one.lost} lost.`;
}
