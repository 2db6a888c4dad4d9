/**
 * What the page looks at in a Pulsar lab: one topic, one subscription of it, the cluster whose consumers read now (the subject) and the
 * one that would take over (the target). A viewer's wishes hold while they exist; else the lab's own sentence decides.
 */

import { clustersOf, isUp, lanesOf } from "../../../model/state.js";
import { subscriptionsOf, topicsOf, topicView } from "./topics.js";

/** @returns {{topic: string, subscription: string, subject: string, target: string | null, clusters: string[], lanes: string[], peers: string[]}} see the shell's `model/watched.js` */
export function watchedOfLogs(state, wish) {
  const [clusters, lanes] = [clustersOf(state), lanesOf(state)];
  const topics = topicsOf(state);
  const subscription_wish = wish.subscription ?? state.view.sentence?.subscription;
  const topic = topics.includes(wish.topic) ? wish.topic : (topics.find((name) => subscriptionsOf(state, name).includes(subscription_wish)) ?? topics[0]);
  const subscriptions = subscriptionsOf(state, topic);
  const subscription = subscriptions.includes(subscription_wish) ? subscription_wish : subscriptions[0];
  const subject = subjectOf(state, topic, subscription, clusters);
  const forecast = state.view.forecast?.[subscription];
  const peers = lanes.filter((cluster) => forecast?.to?.[cluster]);
  const target = [wish.target, plannedTarget(state, subscription), state.view.sentence?.to, peers[0]].find((name) => name !== subject && isUp(state, name)) ?? null;
  return { topic, subscription, subject, target, clusters, lanes, peers };
}

/** Where the scenario itself will move the subscription next: what it is about. */
function plannedTarget(state, subscription) {
  const next = (state.welcome?.commands ?? []).find((command) => command.do === "subscription.fail-over" && command.subscription === subscription && command.at_us >= state.at_us);
  return next?.to;
}

/** Where the consumers are; without any, where the forecast starts; without that, the first cluster that has it; where none has it, the first that has the topic. */
function subjectOf(state, topic, subscription, clusters) {
  const reading = clusters.filter((cluster) => {
    const consumers = topicView(state, cluster, topic)?.subscriptions?.[subscription]?.consumers;
    return consumers && Object.keys(consumers).length > 0 && state.view.clusters[cluster].state === "up";
  });
  const named = state.view.forecast?.[subscription]?.from;
  if (reading.includes(named)) return named;
  return reading[0] ?? named ?? clusters.find((cluster) => topicView(state, cluster, topic)?.subscriptions?.[subscription]) ?? clusters.find((cluster) => topicView(state, cluster, topic)) ?? clusters[0];
}
