/** Pulsar's geo-replication on the lab page. `../table.js` explains each entry. */

import { questionOf } from "../../model/shared_words.js";
import { clustersOf, isUp, lanesOf } from "../../model/state.js";
import { INEVITABLE } from "../../pages/inevitable_panel.js";
import { WHAT_IF, WHY_DUPLICATES } from "../../pages/question_panel.js";
import { foldFrame, nothingFolded, takeOlder } from "./model/folds.js";
import { LIVE_CONSEQUENCES } from "./model/live_consequences.js";
import { MARKS, PULSAR_ROWS, glyphOfRow, groupOfRow, isDetail, isProtocolMessage, repeatOf, snapshotEnd, wordsOfGroup } from "./model/row_words.js";
import { pulsarMirror } from "./model/mirror.js";
import { partitionsOf } from "./render/partitions.js";
import { hasPeers, takesSnapshots } from "./transport/failover_dialog.js";
import { latestFailover, pulsarSentence, secondSentence } from "./model/sentence.js";
import { subscriptionsOf, topicView, topicsOf } from "./model/topics.js";
import { ADMIN_PANEL } from "./pages/admin_panel.js";
import { BROKERS } from "./pages/brokers_panel.js";
import { CREATION } from "./pages/creation_panel.js";
import { FORECAST } from "./pages/forecast_panel.js";
import { makePulsarView } from "./pages/lab_view.js";
import { MIGRATION } from "./pages/migration_panel.js";
import { SHADOWS } from "./pages/shadow_panel.js";
import { LEGEND } from "./render/legend.js";
import { breakMenu } from "./transport/fault_menus.js";

/** The names offered in forms of commands, by kind of argument, and the placeholders of empty fields. */

/** Placeholder of an empty field, by kind of argument. */
export const HINTS = { "setting-name": "Pulsar's own name", namespace: "tenant/namespace", position: "ledger:entry, earliest or latest", messages: "such as web/5, web/7" };

/** @type {Object<string, (state: import("../../model/state.js").LabState, watched: object) => string[] | null>} choices by kind of argument */
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

/**
 * Chooses what the page shows in a Pulsar lab: topic, subscription, subject and target.
 * The subject is the cluster with the consumers, the target the one that would take over. A viewer's choice applies while its object exists;
 * otherwise the lab's own choice.
 */

/** @returns {{topic: string, subscription: string, subject: string, target: string | null, clusters: string[], lanes: string[], peers: string[], curve: {name: string, peer: string | null, words: (peer: string) => string}}} see `whatIsWatched` */
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

/** @type {import("../table.js").Protocol} */
export const PULSAR = {
  name: "pulsar",
  watched: watchedOfLogs,
  nothingFolded,
  foldFrame,
  takes: { "cells-older": takeOlder },
  choices(state, watched) {
    const topics = topicsOf(state);
    const partitioned = partitionsOf(state, watched.topic).length === topics.length; // partitions have selectors of their own
    return { topic: partitioned ? [] : topics, subscription: subscriptionsOf(state, watched.topic) };
  },
  possible: (state, watched) => ({ snapshots: takesSnapshots(state, watched), peers: hasPeers(state) }),
  sentence: pulsarSentence,
  secondSentence,
  ask(state, watched) {
    const over = latestFailover(state, watched.subscription);
    return { question: questionOf(over), shown: over !== null };
  },
  mirror: pulsarMirror,
  rows: PULSAR_ROWS,
  glyphOfRow,
  isDetail,
  isProtocolMessage,
  repeatOf,
  groupOfRow,
  wordsOfGroup,
  marks: MARKS,
  snapshotEnd,
  entry_rows: ["marker.written", "marker.stored"],
  first_command: "producer.publish",
  argument_choices: CHOICES,
  hints: HINTS,
  live_consequences: LIVE_CONSEQUENCES,
  breakMenu,
  keys: { without: ["foldBy"], says: {} },
  legend: LEGEND,
  panels: [WHY_DUPLICATES, WHAT_IF, INEVITABLE, FORECAST, ADMIN_PANEL, CREATION, SHADOWS, MIGRATION, BROKERS],
  makeView: makePulsarView,
};
