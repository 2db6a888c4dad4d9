/**
 * Acknowledgement-state sync per pair of clusters: acked entries that are synced, and those that are missing.
 * It also shows when the last update was applied and when the next one is due.
 */

import { counted, seconds, span, whole } from "../../../model/format.js";
import { topicView } from "../model/topics.js";
import { element, required, setText } from "../../../render/dom.js";
import { setTermHeading } from "../../../render/terms.js";

/** Computes which acks of the watched subscription acknowledgement-state sync has sent to which cluster. Pure. */

/**
 * @typedef {{from: string, to: string, acknowledged: number, known: number, at_us: number | null, next_us: number | null, on_the_wire: number, connected: boolean}} AckSyncRow
 * entries acked in `from`; those of them synced to `to`; when the last sync arrived; when the next one is sent
 */

/** @returns {{every_us: number | null, rows: AckSyncRow[]} | null} null where the subscription does not sync acks */
export function ackSyncOf(state, watched) {
  const rows = [];
  let every_us;
  for (const from of watched.lanes) {
    const topic = topicView(state, from, watched.topic);
    const sync = topic?.subscriptions?.[watched.subscription]?.sync;
    if (!sync) continue;
    every_us = sync.every_us;
    for (const [to, { entries, at_us, on_the_wire }] of Object.entries(sync.peers)) {
      const connected = topic.replicators?.[to]?.state === "started" && state.view.links[`${from} -> ${to}`]?.state === "up";
      if (sync.acknowledged || entries) rows.push({ from, to, acknowledged: sync.acknowledged, known: Math.min(entries, sync.acknowledged), at_us, next_us: sync.next_us, on_the_wire, connected });
    }
  }
  return every_us === undefined ? null : { every_us, rows };
}

export function makeAckSync(document, root) {
  const section = required(root, "[data-part=ack-sync-section]");
  const title = required(root, "[data-part=ack-sync-title]");
  const note = required(root, "[data-part=ack-sync-note]");
  const list = required(root, "[data-part=ack-sync-rows]");
  let shown = "";
  return {
    update(state, watched) {
      if (!state.view || !watched) return;
      const sync = ackSyncOf(state, watched);
      const key = JSON.stringify([sync, watched.subscription, sync?.rows.length ? state.at_us : 0]);
      if (key === shown) return;
      shown = key;
      section.hidden = sync === null;
      if (sync === null) return;
      setTermHeading(document, title, `Ack sync of ${watched.subscription}`, "acknowledgement-state sync");
      setText(note, sync.every_us === null ? "on command" : `every ${span(sync.every_us)}`);
      const rows = sync.rows.map((row) => ackSyncRow(document, row, state.at_us));
      list.replaceChildren(...(rows.length ? rows : [element(document, "p", { text: "Nothing acknowledged yet." })]));
    },
  };
}

function ackSyncRow(document, row, now_us) {
  const { from, to, acknowledged, known } = row;
  const missing = acknowledged - known;
  const words = [`${from} → `, element(document, "b", { text: to }), `: ${whole(known)} of ${counted(acknowledged, "acknowledged entry", "acknowledged entries")} synced`];
  return element(document, "div.ack-sync-row", {}, [
    element(document, "p", {}, words),
    element(document, `progress${missing ? ".missing" : ""}`, { max: Math.max(1, acknowledged), value: known, "aria-label": `synced to ${to}: ${known} of ${acknowledged}` }),
    element(document, "p", {}, [...(missing ? [element(document, "b.harm-text", { text: `${whole(missing)} not synced` }), ": "] : []), whenWords(row, missing, now_us)]),
  ]);
}

function whenWords({ at_us, next_us, on_the_wire, connected }, missing, now_us) {
  const last = at_us === null ? "no update applied yet" : `last update applied at ${seconds(at_us)} s`;
  if (missing && !connected) return `${last}, target unreachable`;
  if (on_the_wire) return `${last}, ${counted(on_the_wire, "update")} in flight`;
  return missing && next_us !== null ? `${last}, next in ${span(Math.max(0, next_us - now_us))}` : last;
}
