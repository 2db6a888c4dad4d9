/**
 * Chooses what the page shows in a Pulsar lab: topic, subscription, subject and target.
 * The subject is the cluster with the consumers, the target the one that would take over. A viewer's choice applies while its object exists;
 * otherwise the lab's own choice.
 */

import { clustersOf, isUp, lanesOf } from "../../../model/state.js";
import { subscriptionsOf, topicsOf, topicView } from "./topics.js";

/** @returns {{topic: string, subscription: string, subject: string, target: string | null, clusters: string[], lanes: string[], peers: string[], curve: {name: string, peer: string | null, words: (peer: string) => string}}} see the shell's `model/watched.js` */
export function watchedOfLogs(state, selection) {
  const [clusters, lanes] = [clustersOf(state), lanesOf(state)];
  const topics = topicsOf(state);
  const chosen_subscription = selection.subscription ?? state.view.sentence?.subscription;
  const topic = topics.includes(selection.topic) ? selection.topic : (topics.find((name) => subscriptionsOf(state, name).includes(chosen_subscription)) ?? topics[0]);
  const subscriptions = subscriptionsOf(state, topic);
  const subscription = subscriptions.includes(chosen_subscription) ? chosen_subscription : subscriptions[0];
  const subject = subjectOf(state, topic, subscription, clusters);
  const forecast = state.view.forecast?.[subscription];
  const peers = lanes.filter((cluster) => forecast?.to?.[cluster]);
  const target = [selection.target, plannedTarget(state, subscription), state.view.sentence?.to, peers[0]].find((name) => name !== subject && isUp(state, name)) ?? null;
  return { topic, subscription, subject, target, clusters, lanes, peers, curve: { name: subscription, peer: target, words: (peer) => `in ${peer}` } };
}

/** The target of the next failover that the scenario has planned. */
function plannedTarget(state, subscription) {
  const next = (state.welcome?.commands ?? []).find((command) => command.do === "subscription.fail-over" && command.subscription === subscription && command.at_us >= state.at_us);
  return next?.to;
}

/** The cluster with the consumers; without any, the one from which the forecast starts; else the first with the subscription; else the first with the topic. */
function subjectOf(state, topic, subscription, clusters) {
  const reading = clusters.filter((cluster) => {
    const consumers = topicView(state, cluster, topic)?.subscriptions?.[subscription]?.consumers;
    return consumers && Object.keys(consumers).length > 0 && state.view.clusters[cluster].state === "up";
  });
  const named = state.view.forecast?.[subscription]?.from;
  if (reading.includes(named)) return named;
  return reading[0] ?? named ?? clusters.find((cluster) => topicView(state, cluster, topic)?.subscriptions?.[subscription]) ?? clusters.find((cluster) => topicView(state, cluster, topic)) ?? clusters[0];
}
