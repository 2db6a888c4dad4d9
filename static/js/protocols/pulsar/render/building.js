/** The pending snapshot: one row per region that was asked, with request and response of each round and the received position. */

import { seconds, sentence, span } from "../../../model/format.js";
import { required, setText } from "../../../render/dom.js";
import { setTermHeading } from "../../../render/terms.js";
import { prepared } from "../../../render/canvas.js";
import { glyph } from "../../../render/glyphs.js";
import { fontOf } from "../../../render/theme.js";
import { shortName } from "../model/snapshot_names.js";
import { topicView } from "../model/topics.js";

const ROW_PX = 30;

export function makeBuilding(document, root) {
  const title = required(root, "[data-part=building-title]");
  const note = required(root, "[data-part=building-note]");
  const words = required(root, "[data-part=building-words]");
  const canvas = required(root, "canvas[data-part=building-picture]");
  let shown = "";
  return {
    update(state, watched, theme, ratio, width) {
      if (!state.view || !watched) return;
      const topic = topicView(state, watched.subject, watched.topic);
      const pending = topic?.controller?.pending ?? [];
      const newest = pending[pending.length - 1];
      const why = state.view.why_no_snapshot?.[watched.subject]?.[watched.topic];
      const key = JSON.stringify([pending, why, topic?.controller === null, state.at_us, theme.ink.bg, width]);
      if (key === shown) return;
      shown = key;
      canvas.hidden = !newest;
      if (!newest) {
        setTermHeading(document, title, "Snapshot", "snapshot");
        setText(note, topic?.controller ? "none pending" : "no snapshot controller");
        setText(words, wordsWithout(state, watched, topic, why));
        return;
      }
      const rounds = watched.clusters.length > 2 ? 2 : 1;
      setTermHeading(document, title, `Snapshot ${shortName(state, newest.snapshot)}`, "snapshot");
      setText(note, `round ${newest.round} of ${rounds}, ${span(state.at_us - newest.started_us)}${pending.length > 1 ? `, ${pending.length} pending` : ""}`);
      setText(words, wordsOf(newest));
      paint(canvas, state, watched, newest, theme, ratio, width);
    },
  };
}

function wordsWithout(state, watched, topic, why) {
  if (why) return sentence(why.words);
  if (!watched.subject) return "No topic here, so no snapshots.";
  if (!topic?.controller) return `${watched.subject} has no snapshot controller: ${watched.subscription ?? "its subscription"} is not replicated there.`;
  const last = topic.controller.last_completed_us;
  return last ? `Last completed at ${seconds(last)} s. The next tick requests another.` : "None completed yet. The next tick requests one.";
}

function wordsOf(pending) {
  if (pending.missing.length === 0) return "All responses received; the snapshot is being written.";
  return `Waiting for the response of ${pending.missing.join(" and ")}. Completed, it maps a position here to the positions below in the other regions.`;
}

function paint(canvas, state, watched, pending, theme, ratio, width) {
  const peers = watched.lanes.filter((cluster) => cluster !== watched.subject && topicView(state, cluster, watched.topic));
  const height = peers.length * ROW_PX * theme.scale + 4;
  const context = prepared(canvas, width, height, ratio);
  const x0 = 92 * theme.scale;
  const x1 = width - 8;
  const rows = state.kept.snapshots.filter((row) => row.snapshot === pending.snapshot && (row.type === "snapshot.requested" || row.type === "snapshot.answered"));
  const span_us = Math.max(state.at_us - pending.started_us, 1) * 1.15;
  const xAt = (us) => x0 + ((us - pending.started_us) / span_us) * (x1 - x0);
  peers.forEach((peer, at) => paintRow(context, theme, { y: (at * ROW_PX + 9) * theme.scale, peer, x0, xAt, now_us: state.at_us, rows, answer: pending.answers[peer] }));
  context.fillStyle = theme.ink.ink;
  context.fillRect(xAt(state.at_us), 0, 1.2, height);
}

function paintRow(context, theme, { y, peer, x0, xAt, now_us, rows, answer }) {
  context.font = fontOf(theme);
  context.textBaseline = "middle";
  context.textAlign = "left";
  context.fillStyle = theme.ink.ink2;
  context.fillText(peer, 0, y, x0 - 10);
  const asked = rows.filter((row) => row.type === "snapshot.requested");
  const answered = rows.filter((row) => row.type === "snapshot.answered" && row.peer === peer);
  context.lineWidth = 1.2;
  for (const [at, question] of asked.entries()) {
    const reply = answered.find((row) => (row.count ?? 1) === (question.count ?? at + 1));
    context.strokeStyle = theme.ink.proto;
    context.setLineDash(reply ? [] : [2, 3]);
    context.beginPath();
    context.moveTo(xAt(question.at_us), y);
    context.lineTo(xAt(reply ? reply.at_us : now_us), y);
    context.stroke();
    context.setLineDash([]);
    glyph(context, "snapshot_request", xAt(question.at_us), y, 4 * theme.scale, theme.ink.proto, theme.ink.bg);
    if (reply) glyph(context, "snapshot_response", xAt(reply.at_us), y, 4 * theme.scale, theme.ink.proto, theme.ink.bg);
  }
  if (!answer) return;
  context.fillStyle = theme.ink.ink2;
  context.fillText(`≤ ${answer}`, x0, y + 13 * theme.scale);
}
