/** The text view of a Pulsar lab: clusters with their logs and cursors, links, snapshots. */

import { counted } from "../../../model/format.js";
import { linkSection } from "../../../model/shared_words.js";
import { gapsOf } from "./acknowledged.js";
import { positionOf } from "./positions.js";
import { shortName } from "./snapshot_names.js";
import { topicView } from "./topics.js";

/** @returns {{title: string, lines: string[]}[]} */
export function pulsarMirror(state, watched) {
  return [
    ...watched.lanes.map((cluster) => ({ title: cluster, lines: linesOfCluster(state, watched, cluster) })),
    linkSection(state),
    { title: "Snapshots", lines: linesOfSnapshots(state, watched) },
  ];
}

function linesOfCluster(state, watched, cluster) {
  const held = state.view.clusters[cluster];
  if (!held) return ["Not part of this run."];
  const topic = topicView(state, cluster, watched.topic);
  const lines = [`The cluster is ${held.state}.`];
  if (!topic) return [...lines, `It does not hold ${watched.topic}.`];
  lines.push(`${watched.topic} holds ${counted(topic.length, "entry", "entries")}; the last is ${topic.last_position}.`);
  const cursor = topic.subscriptions?.[watched.subscription];
  if (!cursor) return [...lines, `${watched.subscription} does not exist here.`];
  lines.push(`Mark-delete of ${watched.subscription}: ${cursor.mark_delete}; ${counted(cursor.backlog, "entry", "entries")} in the backlog.`);
  if (cursor.ranges_total > 0) lines.push(`Individually deleted messages: ${cursor.individually_deleted}.`);
  for (const [first, last] of gapsOf(cursor, 3)) {
    lines.push(`Not acknowledged, so the mark-delete stays before it: ${positionOf(topic.ledgers, first)}${last > first ? ` to ${positionOf(topic.ledgers, last)}` : ""}.`);
  }
  for (const [name, consumer] of Object.entries(cursor.consumers)) {
    lines.push(`Consumer ${name} is ${consumer.state}: ${counted(consumer.unacked.length, "message")} delivered, not acked${consumer.queued === null ? "" : `; ${consumer.queued} in the receiver queue`}.`);
  }
  for (const [peer, replicator] of Object.entries(topic.replicators)) {
    lines.push(`Replicator to ${peer}: ${replicator.state}, replication backlog ${counted(replicator.backlog, "entry", "entries")}.`);
  }
  return lines;
}

function linesOfSnapshots(state, watched) {
  const topic = topicView(state, watched.subject, watched.topic);
  const lines = [];
  for (const pending of topic?.controller?.pending ?? []) {
    lines.push(`${shortName(state, pending.snapshot)} is pending, round ${pending.round}; responses missing from: ${pending.missing.join(", ") || "no region"}.`);
  }
  const cursor = topic?.subscriptions?.[watched.subscription];
  for (const kept of cursor?.cache ?? []) lines.push(`${shortName(state, kept.snapshot)} is cached, usable once the mark-delete reaches ${kept.position}.`);
  const why = state.view.why_no_snapshot?.[watched.subject]?.[watched.topic];
  if (why) lines.push(`Next snapshot skipped: ${why.words}`);
  return lines.length ? lines : ["None pending, none cached."];
}
