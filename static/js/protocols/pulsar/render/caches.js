/** The snapshot cache of the watched subscription: cached snapshots on a piece of log with the mark-delete, so that the distance is visible. */

import { counted } from "../../../model/format.js";
import { positionOf } from "../model/positions.js";
import { required, setText } from "../../../render/dom.js";
import { setTermHeading } from "../../../render/terms.js";
import { prepared } from "../../../render/canvas.js";
import { glyph, pin } from "../../../render/glyphs.js";
import { fontOf } from "../../../render/theme.js";
import { shortName } from "../model/snapshot_names.js";
import { topicView } from "../model/topics.js";

export function makeCaches(document, root) {
  const title = required(root, "[data-part=cache-title]");
  const note = required(root, "[data-part=cache-note]");
  const words = required(root, "[data-part=cache-words]");
  const canvas = required(root, "[data-part=cache-picture]");
  let shown = "";
  return {
    update(state, watched, theme, ratio, width) {
      if (!state.view || !watched) return;
      if (!watched.subscription) {
        setText(words, "No subscription here uses snapshots.");
        return;
      }
      const topic = topicView(state, watched.subject, watched.topic);
      const cursor = topic?.subscriptions?.[watched.subscription];
      const cache = cursor?.cache ?? [];
      const key = JSON.stringify([cache, cursor?.mark_delete, topic?.length, theme.ink.bg, width]);
      if (key === shown) return;
      shown = key;
      setTermHeading(document, title, `Snapshot cache of ${watched.subscription}`, "snapshot cache");
      setText(note, cursor?.replicated === false ? "not replicated" : String(cache.length));
      canvas.hidden = cache.length === 0;
      setText(words, cursor ? wordsOf(state, watched, topic, cursor, cache) : `${watched.subscription} does not exist in ${watched.subject}.`);
      if (cache.length) paint(canvas, topic, cursor, cache, theme, { ratio, width, newest: shortName(state, cache[cache.length - 1].snapshot) });
    },
  };
}

function wordsOf(state, watched, topic, cursor, cache) {
  if (state.view.clusters[watched.subject].state !== "up") return `The cache was in the memory of ${watched.subject} and is lost.`;
  if (cache.length === 0) return cursor.replicated ? "No unused snapshots." : "This subscription is not replicated: no snapshots are cached for it.";
  const [oldest] = cache;
  const short = oldest.index - cursor.mark_delete_index;
  const blocker = positionOf(topic.ledgers, cursor.mark_delete_index + 1);
  if (cursor.ranges.length) return `${blocker} is not acknowledged and keeps the mark-delete ${counted(short, "entry", "entries")} short of ${shortName(state, oldest.snapshot)}.`;
  return `The mark-delete is ${counted(short, "entry", "entries")} short of ${shortName(state, oldest.snapshot)}.`;
}

function paint(canvas, topic, cursor, cache, theme, { ratio, width, newest: name }) {
  const height = 46 * theme.scale;
  const context = prepared(canvas, width, height, ratio);
  const first = Math.min(cursor.mark_delete_index, cache[0].index) - 3;
  const last = topic.length - 1;
  const xAt = (index) => 4 + ((index - first) / Math.max(1, last - first)) * (width - 12);
  const y = 20 * theme.scale;
  context.fillStyle = theme.ink.line;
  context.fillRect(0, y - 0.5, width - 4, 1);
  context.fillStyle = theme.ink.ink;
  const mark = xAt(cursor.mark_delete_index);
  context.fillRect(0, y - theme.rail / 2, mark, theme.rail);
  pin(context, mark, y + 2, 0, -1, 8 * theme.scale, theme.ink.ink, theme.ink.bg, false);
  for (const kept of cache) glyph(context, "snapshot", xAt(kept.index), y, 4.2 * theme.scale, theme.ink.proto, theme.ink.bg);
  context.font = fontOf(theme, theme.label, 600);
  context.textBaseline = "middle";
  context.fillStyle = theme.ink.proto;
  const newest = cache[cache.length - 1];
  context.textAlign = xAt(newest.index) > width * 0.7 ? "right" : "left";
  context.fillText(`${name} ${newest.position}`, Math.min(width - 6, xAt(newest.index) + (context.textAlign === "right" ? 6 : -6)), 6 * theme.scale);
  context.fillStyle = theme.ink.ink;
  context.textAlign = mark < 40 ? "left" : mark > width - 50 ? "right" : "center";
  context.fillText(cursor.mark_delete, Math.max(0, mark), 40 * theme.scale);
}
