/** Computes which acks of the watched subscription acknowledgement-state sync has sent to which cluster. Pure. */

import { topicView } from "./topics.js";

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
