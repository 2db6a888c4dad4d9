/**
 * What a command of Pulsar will do, in words and before it is given, from the state as it is: who is hit, what is lost with them, and what
 * the forecast says of a failover now. Figures are the engine's own; nothing is estimated here.
 */

import { counted } from "../../../model/format.js";
import { CREATION_WORDS } from "./consequences_creation.js";
import { topicView } from "./topics.js";

/** @type {Object<string, (command: object, state: import("../../../model/state.js").LabState, watched: object) => string[]>} */
export const PULSAR_CONSEQUENCES = {
  "cluster.crash": (command, state, watched) =>
    [
      `${command.cluster} stops at once; what its brokers had not written and what is on its wires is gone.`,
      command.clients === false ? "Its clients live on and cannot reach it." : consumersLost(command.cluster, state, watched),
      snapshotsStop(command.cluster, state, watched),
      forecastWords(command.cluster, state, watched),
    ],
  "cluster.lose": (command, state, watched) => [`${command.cluster} is gone for good, with every message that was only there.`, consumersLost(command.cluster, state, watched), forecastWords(command.cluster, state, watched)],
  "cluster.restart": ({ cluster }) => [`${cluster} comes back with what it had written. Replicators connect again and send what is missing; snapshots go on.`],
  "topic.unload": ({ cluster, topic, broker }) => [`The broker of ${cluster} lets ${topic} go and ${broker ? `${broker} takes it` : "another loads it"}: consumers connect again, what they held comes again, and the snapshots kept in memory are lost.`],
  "topic.crash": ({ cluster, topic, downtime }) => [`The broker of ${cluster} that holds ${topic} dies; ${downtime ? `after ${downtime} ` : ""}another has the topic, with what was written. Shadow topics of it are not told one by one of what comes meanwhile.`],
  "topic.terminate": ({ topic }) => [`${topic} takes no more messages, for good; what it holds can be read.`],
  "topic.truncate": ({ topic }) => [`Every cursor of ${topic} goes to the end, and all its ledgers but the open one are deleted: under its shadow topics too.`],
  "topic.offload": ({ topic, deleteFromBookies }) => [`${topic}'s closed ledgers are copied to other storage${deleteFromBookies ? " and leave the bookies: whoever has another offload driver cannot read them any more" : ""}.`],
  "schema.get": ({ topic }) => [`Nothing changes: the answer is the schema of ${topic}, or of the topic whose shadow it is.`],
  "schema.list": ({ topic }) => [`Nothing changes: the answer lists the schemas of ${topic}, or of the topic whose shadow it is.`],
  "schema.version": ({ topic, schema }) => [`Nothing changes: the answer is the version that ${schema ?? "the schema"} has in ${topic}.`],
  "shadow.create": ({ topic, source }) => [`${topic ?? "The shadow topic"} reads the ledgers of ${source ?? "its source"}; until that is told to feed it, it sees closed ledgers only.`],
  "shadow.delete": ({ topic }) => [`${topic ?? "The shadow topic"} goes with its subscriptions; the ledgers stay, they are its source's.`],
  "shadow.source": () => ["Nothing changes: the answer names the topic that it reads."],
  "shadow.set": ({ topic, shadows }) => [`${topic} tells ${shadows ?? "the shadow topics named"} of every entry from now on, by position; what is there already is not told.`],
  "shadow.list": ({ topic }) => [`Nothing changes: the answer says which shadow topics ${topic} feeds.`],
  "shadow.remove": ({ topic }) => [`${topic} has no shadow topic on its list any more; as shipped, its replicators go on until it is unloaded.`],
  "producer.send": ({ producer, position }) => [position ? `${producer} sends a message that says it is ${position}: only a shadow topic takes that, and believes it.` : `${producer} sends one message; a shadow topic refuses it.`],
  "topic.grow": ({ topic }) => [`${topic ?? "The topic"} gets more partitions; keys may go to others from then on, and each new one has its own snapshots.`],
  "link.cut": ({ link }, state, watched) => [`Nothing crosses ${link ?? "the link"} any more; what is on the wire is lost and sent again after healing.`, snapshotsNeedAll(state, watched)],
  "link.heal": ({ link }) => [`${link ?? "The link"} works again: replicators connect and send on from what is confirmed.`],
  "link.slow": ({ link, latency }) => [`Everything on ${link ?? "the link"} takes ${latency ?? "longer"}; order is kept. Snapshots take as much longer, and past their timeout none finishes.`],
  "marker.delay": (command) => [`The next ${kindOf(command)} that leaves ${command.cluster} arrives ${command.by ?? "later"}; what stands behind it on that connection waits too.`],
  "marker.drop": (command) => [`The next ${kindOf(command)} that leaves ${command.cluster} never arrives. Real links do not do this: it shows what the marker was for.`],
  "snapshot.finish-partial": () => ["Pending snapshots finish with the answers at hand. Unsafe: an update may move a cursor past messages that nobody has processed."],
  "producer.publish": ({ producer, count }) => [`${producer} publishes ${count ?? 10} messages at this instant, beside its pace.`],
  "producer.start": ({ producer }) => [`${producer} begins to publish at its pace.`],
  "producer.stop": ({ producer }) => [`${producer} publishes no more; what it has sent is finished.`],
  "producer.pause": ({ producer }) => [`${producer} publishes nothing until it is let go on. Without new messages no snapshot is asked for.`],
  "producer.resume": ({ producer }) => [`${producer} goes on at its pace.`],
  "producer.slow": ({ producer, every }) => [`${producer} publishes every ${every ?? "so often"} from now on.`],
  "consumer.start": ({ consumer }) => [`${consumer} subscribes and is given what waits.`],
  "consumer.stop": ({ consumer }) => [`${consumer} leaves; what it held goes to others or waits.`],
  "consumer.pause": ({ consumer }) => [`${consumer} takes nothing up; its queue fills, the mark-delete stands, and snapshots behind it cannot be used.`],
  "consumer.resume": ({ consumer }) => [`${consumer} goes on with its queue.`],
  "consumer.slow": ({ consumer, processing }) => [`${consumer} takes ${processing ?? "longer"} for each message; the mark-delete falls behind, and with it what a failover can spare.`],
  "consumer.hold": ({ consumer }) => [`${consumer} delivers and does not acknowledge what is named. The first held message stops the mark-delete: no snapshot after it can be used, and all behind it comes twice.`],
  "consumer.release": ({ consumer }) => [`${consumer} acknowledges what it holds; the mark-delete jumps and may pass kept snapshots.`],
  "consumer.negative-acknowledge": ({ consumer }) => [`${consumer} gives these messages back; they come again after its delay.`],
  "client.kill": ({ client }, state, watched) => [`${client} dies: acknowledgements it had not sent are gone.`, inHandOf(client, state, watched)],
  "client.close": ({ client }) => [`${client} sends the acknowledgements it has and leaves; only what it had not processed comes again.`],
  "subscription.fail-over": (command, state, watched) =>
    command.mode === undefined || command.mode === "crash"
      ? [`Consumers of ${command.subscription} read in ${command.to} at once, from where its cursor stands.`, forecastWords(command.from, state, watched, command.to)]
      : [{ planned: "Consumers finish what they hold, close, and open there; what no update has told the other side comes twice.", drained: "Consumers move once the target's cursor has caught up or the limit has passed.", auto: "Clients probe their region and move by themselves when it has been silent for long enough." }[command.mode] ?? ""],
  "subscription.reset": ({ subscription, cluster }) => [`The cursor of ${subscription} in ${cluster} is put elsewhere: back, and messages come again; forward, and they never come. Kept snapshots are lost.`],
  "subscription.sync-acknowledgements": ({ from, to }) => [`${from} tells ${to} every message that is acknowledged; ${to} will not hand those out.`, "What is acknowledged afterwards it does not know."],
  "subscription.skip": ({ cluster }) => [`The next messages in ${cluster} are let go unread: not lost by a failure, but by this.`],
  "subscription.clear": ({ subscription, cluster }, state, watched) => [`${counted(topicView(state, cluster, watched.topic)?.subscriptions?.[subscription]?.backlog ?? 0, "entry", "entries")} of ${subscription} in ${cluster} are let go unread.`],
  "subscription.create": ({ subscription, cluster, initialPosition }) => [`${subscription ?? "The subscription"} begins in ${cluster} at the ${initialPosition === "Earliest" ? "oldest message kept" : "next message: what is there already is not owed to it"}.`],
  "subscription.delete": ({ subscription, cluster }) => [`${subscription} and its cursor are gone from ${cluster}. An update of another region makes it again, at that update's place.`],
  "subscription.replicate": ({ subscription, cluster, enabled }) => [enabled ? `${cluster} takes part for ${subscription}: it keeps snapshots and sends updates.` : `${cluster} sends no more updates for ${subscription}: other cursors stand, and after a failover all since then comes twice.`],
  "replication.remove-cluster": ({ cluster }) => [`${cluster} gets no more messages and no markers; the others' snapshots no longer wait for it.`],
  "replication.add-cluster": ({ cluster }) => [`${cluster} gets messages from now on, and snapshots wait for its answer too.`],
  "migration.start": ({ tenant, to, strategy }) => [
    `What ${tenant ?? "the tenant"} has is made in ${to ?? "the new cluster"}, then its data and its progress are brought there; its clients stay until the switch.`,
    strategy === "blue-green" ? "Blue-green: nothing is copied. What is old is read where it is, what is new is published in the new cluster, and there is no way back." : "",
    strategy === "none" ? "What is acknowledged is not told: everything old comes twice." : "",
  ],
  "migration.pause": ({ tenant }) => [`The step in hand rests; what is copied and told goes on being copied and told. ${tenant ?? "The tenant"} can be rolled back from here.`],
  "migration.resume": ({ tenant }) => [`The migration of ${tenant ?? "the tenant"} goes on with what is missing; after a failure that is another attempt.`],
  "migration.advance": ({ tenant }, state) => [`The next step of ${tenant ?? "the tenant"} begins if what it needs is there.`, costWords(tenant, state)],
  "migration.switch": ({ tenant, force }, state) => [
    `The map sends the clients of ${tenant ?? "the tenant"} to the new cluster; topics are unloaded, so that they ask again.`,
    force ? "Forced: also what has not been copied and told is left to come later." : "",
    costWords(tenant, state),
  ],
  "migration.clean-up": ({ tenant, force }) => [`Everything of ${tenant ?? "the tenant"} in the old cluster is deleted. From here on there is no way back.`, force ? "Forced: what somebody still needs and only the old cluster has is lost." : ""],
  "migration.roll-back": ({ tenant }) => [`Clients of ${tenant ?? "the tenant"} return to the old cluster. What they published and acknowledged in the new one is brought back before it is cleaned.`],
  "lookup.stop": () => ["Clients that are connected stay; new ones, and those that lose their broker, ask in vain and try again, at longer and longer intervals."],
  "lookup.start": () => ["Clients are told again where their tenant is, each at its next try."],
  "cluster.migrate": ({ cluster, migrated, to }) => [
    migrated === false ? `${cluster ?? "The cluster"} is not migrated any more; topics that were terminated stay so.` : `At their next check the topics of ${cluster ?? "the cluster"} take no more messages, and clients are sent on to ${to ?? "the green cluster"} as their subscriptions are drained.`,
  ],
  "namespace.migrate": ({ cluster, namespace, migrated }) => [
    migrated === false ? `${namespace ?? "The namespace"} is not migrated any more; topics that were terminated stay so.` : `At their next check the topics of ${namespace ?? "the namespace"} in ${cluster ?? "the cluster"} take no more messages, and clients are sent on as their subscriptions are drained.`,
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
  const [who, verb, whose] = names.length === 1 ? [names[0], "dies", "its"] : [`${names.slice(0, 3).join(", ")}${names.length > 3 ? " and others" : ""}`, "die", "their"];
  return `${who} ${verb} with it, ${counted(held, "message")} in ${whose} hands and queues.`;
}

function inHandOf(client, state, watched) {
  const found = watched.clusters.flatMap((cluster) => consumersOf(cluster, state, watched)).find(([name]) => name === client)?.[1];
  return found ? `${counted(found.in_hand.length + found.queued, "message")} that it held will go to others or wait.` : "";
}

function snapshotsNeedAll(state, watched) {
  return watched.clusters.length > 1 && watched.subscription ? "One connection missing is enough to stop all snapshots of the topic." : "";
}

function snapshotsStop(cluster, state, watched) {
  return watched.clusters.includes(cluster) ? snapshotsNeedAll(state, watched) : "";
}

function costWords(tenant, state) {
  const run = (state.view?.migrations ?? []).findLast((one) => one.tenant === tenant);
  const cost = run?.cost?.sum;
  if (!cost || run.switched_at_us !== null) return "";
  return `At this instant: ${counted(cost.duplicates, "message")} twice, ${cost.stranded} not copied yet, ${cost.lost} lost.`;
}

function forecastWords(from, state, watched, to = watched.target) {
  const figures = state.view?.forecast?.[watched.subscription];
  const one = figures?.from === from ? figures.to[to] : null;
  if (!one) return "";
  return `If ${watched.subscription} then moved to ${to}: ${counted(one.duplicates, "message")} twice, ${one.stranded} not replicated, ${one.lost} lost.`;
}
