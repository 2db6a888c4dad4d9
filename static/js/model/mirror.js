/**
 * The instant in words: what the diagram shows, as headings and lists of plain sentences, for screen readers and for
 * whoever presses T. One function of the state, so it cannot say another thing than the picture.
 */

import { groupMirror } from "../protocols/emqx/model/group_mirror.js";
import { isGroupLab } from "../protocols/emqx/model/groups.js";
import { counted, seconds, span } from "./format.js";
import { plainSentence, sentenceOf } from "./sentence.js";
import { gapsOf } from "../protocols/pulsar/model/acknowledged.js";
import { positionOf } from "../protocols/pulsar/model/positions.js";
import { topicView } from "./state.js";

/**
 * @param {import("./state.js").LabState} state
 * @param {object} watched
 * @returns {{title: string, lines: string[]}[]}
 */
export function mirrorOf(state, watched) {
  if (!state.view || !watched) return [];
  const head = { title: `At ${seconds(state.at_us)} s`, lines: [plainSentence(sentenceOf(state, watched)), state.playing ? `Playing at ${state.speed} times real time.` : "Paused."] };
  if (isGroupLab(state)) return [head, ...groupMirror(state, watched), { title: "Links", lines: linesOfLinks(state) }];
  return [
    head,
    ...watched.lanes.map((cluster) => ({ title: cluster, lines: linesOfCluster(state, watched, cluster) })),
    { title: "Links", lines: linesOfLinks(state) },
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
  if (cursor.ranges_total > 0) lines.push(`Acknowledged one by one: ${cursor.individually_deleted}.`);
  for (const [first, last] of gapsOf(cursor, 3)) {
    lines.push(`Not acknowledged, and holding the mark-delete back: ${positionOf(topic.ledgers, first)}${last > first ? ` to ${positionOf(topic.ledgers, last)}` : ""}.`);
  }
  for (const [name, consumer] of Object.entries(cursor.consumers)) {
    lines.push(`Consumer ${name} is ${consumer.state}: ${counted(consumer.in_hand.length, "message")} in hand, ${consumer.queued} queued.`);
  }
  for (const [peer, replicator] of Object.entries(topic.replicators)) {
    lines.push(`Replicator to ${peer}: ${replicator.state}, ${counted(replicator.backlog, "entry", "entries")} not confirmed there.`);
  }
  return lines;
}

function linesOfLinks(state) {
  return Object.entries(state.view.links ?? {}).map(([name, link]) => {
    const flying = state.flights_total[name] ?? 0;
    return `${name.replace("->", "to")}: ${link.state}, ${span(link.latency_us)}${link.slowed ? " (slowed)" : ""}${flying ? `, ${flying} on the way` : ""}.`;
  });
}

function linesOfSnapshots(state, watched) {
  const topic = topicView(state, watched.subject, watched.topic);
  const lines = [];
  for (const pending of topic?.controller?.pending ?? []) {
    lines.push(`S${pending.snapshot} is being built, round ${pending.round}; waiting for ${pending.missing.join(", ") || "nobody"}.`);
  }
  const cursor = topic?.subscriptions?.[watched.subscription];
  for (const kept of cursor?.cache ?? []) lines.push(`S${kept.snapshot} is kept, usable once the mark-delete reaches ${kept.position}.`);
  const why = state.view.why_no_snapshot?.[watched.subject]?.[watched.topic];
  if (why) lines.push(`No snapshot is asked for: ${why.words}`);
  return lines.length ? lines : ["None pending, none kept."];
}
