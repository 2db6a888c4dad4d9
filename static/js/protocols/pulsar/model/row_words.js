/** One line in words per event of Pulsar, as parts: plain text and {strong} or {harm}. Events of any protocol are in the shell's `model/row_words.js`. */

import { span } from "../../../model/format.js";
import { CREATION_ROWS } from "./row_words_creation.js";

const b = (text) => ({ strong: String(text) });
const h = (text) => ({ harm: String(text) });
const snap = (row) => b(`S${row.snapshot}`);
const at = (row) => `${row.ledger}:${row.entry}`;
const there = (row) => `${row.to_ledger}:${row.to_entry}`;
const message = (row) => b(`${row.producer}/${row.sequence_id}`);
const MARKER_WORDS = { snapshot_request: "request", snapshot_response: "response", snapshot: "snapshot marker", subscription_update: "update" };
const marker = (row) => `${MARKER_WORDS[row.reason] ?? row.reason}${row.snapshot !== undefined ? ` of S${row.snapshot}` : ""}${row.subscription ? ` for ${row.subscription}` : ""}`;
const REFUSED = {
  pending: "one is still pending and none ever succeeded",
  "no-new-data": "nothing new since the last",
  "replicator-disconnected": "a replicator is not connected",
};

/** @type {Object<string, (row: object) => Array<string | object>>} */
export const PULSAR_ROWS = {
  "cluster.crashed": (row) => [h(`${row.cluster} crashes`)],
  "cluster.restarted": (row) => [b(row.cluster), " is back"],
  "cluster.lost": (row) => [h(`${row.cluster} is lost for good`)],
  "setting.changed": (row) => [b(row.reason), ` is now ${row.detail} in ${row.cluster}`],
  "topic.loaded": (row) => [`${row.topic} loaded in `, b(row.cluster)],
  "topic.unloaded": (row) => [`${row.topic} left its broker in `, b(row.cluster), ` (${row.reason})`],
  "ledger.opened": (row) => [`${row.cluster} opens ledger `, b(row.ledger)],
  "ledger.closed": (row) => [`${row.cluster} closes ledger ${row.ledger} with ${row.count} entries`],
  "ledger.trimmed": (row) => [`${row.cluster} deletes ledger ${row.ledger} with ${row.count} entries`],
  "message.held": (row) => [message(row), ` stays unacknowledged with ${row.client}${row.duration_us === undefined ? "" : ` for ${span(row.duration_us)}`}`],
  "message.receipted": (row) => [message(row), " is safe, its producer hears"],
  "message.replicated": (row) => [message(row), ` leaves ${row.cluster} for ${row.peer}`],
  "message.registered": (row) => [message(row), ` acknowledgement reaches the broker of ${row.cluster}`],
  "message.resent": (row) => [message(row), ` sent again by its producer, time ${row.count}`],
  "message.deduplicated": (row) => [message(row), ` taken for a repeat in ${row.cluster}, not stored`],
  "message.send-failed": (row) => [h(`${row.producer}/${row.sequence_id} given up`), ` by its producer (${row.reason})`],
  "message.not-replicated": (row) => [message(row), ` is not for ${row.peer} (${row.reason})`],
  "message.negatively-acknowledged": (row) => [message(row), ` refused by ${row.client}, to come again`],
  "message.expired": (row) => [message(row), ` expired in ${row.cluster}`],
  "message.skipped": (row) => [message(row), ` skipped in ${row.cluster} (${row.reason})`],
  "message.removed": (row) => [message(row), ` deleted with its ledger in ${row.cluster}`],
  "marker.filtered": (row) => [`${marker(row)} read by the dispatcher of ${row.subscription} in `, b(row.cluster), ", never delivered"],
  "cursor.persisted": (row) => [`cursor of ${row.subscription} in ${row.cluster} would survive a crash at ${at(row)}`],
  "marker.written": (row) => (row.reason === "snapshot_response" ? [b(row.cluster), ` answers S${row.snapshot} at ${at(row)}`] : [b(row.cluster), ` writes the ${marker(row)} at ${at(row)}`]),
  "marker.sent": (row) => [`${marker(row)} leaves ${row.cluster} for ${row.peer}`],
  "marker.stored": (row) => [`${marker(row)} lands in `, b(row.cluster), ` at ${at(row)}`],
  "marker.handled": (row) => [b(row.cluster), ` reads the ${marker(row)} from ${row.peer}`],
  "marker.lost": (row) => [h(`${marker(row)} is lost`), ` between ${row.cluster} and ${row.peer}`],
  "marker.delayed": (row) => [h(`${marker(row)} is delayed`), ` by ${span(row.duration_us)} on its way to ${row.peer}`],
  "marker.dropped": (row) => [h(`${marker(row)} is dropped`), ` on its way to ${row.peer}`],
  "controller.started": (row) => ["snapshot controller starts in ", b(row.cluster), row.reason === "forced" ? ", forced by a remote marker" : ""],
  "controller.stopped": (row) => [`snapshot controller stops in ${row.cluster} (${row.reason})`],
  "snapshot.requested": (row) => [b(row.cluster), " asks for ", snap(row), `, round ${row.count ?? 1}`],
  "snapshot.refused": (row) => [b(row.cluster), ` asks for no snapshot: ${REFUSED[row.reason] ?? row.reason}`],
  "snapshot.answered": (row) => ["answer of ", b(row.peer), ` to S${row.snapshot}: up to ${there(row)}`],
  "snapshot.answer-ignored": (row) => [`answer of ${row.peer} comes too late: ${row.reason}`],
  "snapshot.completed": (row) => [snap(row), row.reason === "partial" ? " finished without everybody" : " complete", ` in ${span(row.duration_us ?? 0)}, here up to ${at(row)}`],
  "snapshot.position": (row) => [`S${row.snapshot} names ${there(row)} in ${row.peer}`],
  "snapshot.timed-out": (row) => [h(`S${row.snapshot} timed out`)],
  "snapshot.abandoned": (row) => [h(`S${row.snapshot} abandoned`), ` (${row.reason})`],
  "snapshot.cached": (row) => [snap(row), ` kept for ${row.subscription}, usable at ${at(row)}`],
  "snapshot.evicted": (row) => [`S${row.snapshot} thrown out unused (${row.reason})`],
  "snapshot.used": (row) => [snap(row), ` used: the mark-delete of ${row.subscription} passed ${at(row)}`],
  "update.written": (row) => [b(row.cluster), ` tells everyone: ${row.subscription} is through S${row.snapshot}`],
  "update.position": (row) => [`the update names ${there(row)} in ${row.peer}`],
  "update.applied": (row) => [b(row.cluster), ` moves ${row.subscription} to ${there(row)}, as ${row.peer} said`],
  "acknowledgements.sent": (row) => [b(row.cluster), ` tells ${row.peer} what ${row.subscription} has acknowledged: up to ${at(row)}, and ${row.count} more one by one`],
  "acknowledgements.applied": (row) => [b(row.cluster), ` knows what ${row.subscription} has acknowledged in ${row.peer}: up to ${there(row)}, and ${row.count} more`],
  "acknowledgements.lost": (row) => [h(`acknowledgements of ${row.subscription} are lost`), ` on their way from ${row.cluster} to ${row.peer}`],
  "message.filtered": (row) => [message(row), ` is passed over in ${row.cluster}: acknowledged in ${row.peer}`],
  "topic.assigned": (row) => [`${row.topic} is on `, b(row.broker), ` in ${row.cluster}`],
  "message.dispatched": (row) => [message(row), ` has left its broker in ${row.cluster} for ${row.client}, after ${span(row.duration_us)} of its time`],
  "tenant.mapped": (row) => [h(`${row.tenant} is in ${row.cluster} now`), `, no longer in ${row.peer}, says the LookupService`],
  "lookup.answered": (row) => [b(row.client), row.reason === "lookup" ? ` is told: ${row.topic} is in ${row.cluster}` : ` is told the ${row.reason.replace("-", " ")} of ${row.topic}`],
  "lookup.failed": (row) => [h(`${row.client} asks in vain`), ` where ${row.topic} is (${row.reason}), time ${row.count}`],
  "lookup.stopped": () => [h("the LookupService stops answering")],
  "lookup.started": () => ["the LookupService answers again"],
  "producer.connected": (row) => [b(row.client), ` publishes to ${row.cluster}`],
  "producer.disconnected": (row) => [b(row.client), ` loses its broker in ${row.cluster} (${row.reason})`],
  "client.redirected": (row) => [b(row.client), ` is sent on from ${row.cluster} to ${row.peer}`],
  "migration.started": (row) => [h(`${row.tenant} begins to move from ${row.cluster} to ${row.peer}`), ` (${row.reason})`],
  "migration.step-began": (row) => [b(row.tenant), `: step ${row.reason} begins${row.count > 1 ? `, attempt ${row.count}` : ""}`],
  "migration.step-finished": (row) => [b(row.tenant), `: step ${row.reason} is through after ${span(row.duration_us)}`],
  "migration.step-failed": (row) => [h(`${row.tenant}: step ${row.reason} fails`), `: ${row.detail}`],
  "migration.step-undone": (row) => [b(row.tenant), `: step ${row.reason} is taken back`],
  "migration.changed": (row) => [b(row.tenant), `: ${row.reason}`],
  "migration.ended": (row) => [b(row.tenant), `: migration ${row.reason}`],
  "resource.created": (row) => [`${row.reason} `, b(row.detail), ` made in ${row.cluster}`],
  "resource.deleted": (row) => [`${row.reason} `, b(row.detail), ` deleted in ${row.cluster}`],
  "cluster.migration-marked": (row) => [h(`${row.detail ?? row.cluster} is ${row.count ? "" : "no longer "}marked migrated`), ` in ${row.cluster}`],
  "topic.migrated": (row) => [`${row.cluster} sends clients of ${row.topic} on to `, b(row.peer)],
  "update.refused": (row) => [`${row.cluster} does not move ${row.subscription}: ${row.reason}`],
  "subscription.created": (row) => [b(row.subscription), ` created in ${row.cluster} after ${at(row)} (${row.reason})`],
  "subscription.deleted": (row) => [h(`${row.subscription} deleted`), ` in ${row.cluster}`],
  "subscription.replication-switched": (row) => [`replication of ${row.subscription} switched ${row.count ? "on" : "off"} in ${row.cluster}`],
  "cursor.moved": (row) => [`mark-delete of ${row.subscription} in ${row.cluster} → `, b(there(row)), row.reason === "acknowledgement" ? "" : ` (${row.reason})`],
  "cursor.recovered": (row) => [`cursor of ${row.subscription} in ${row.cluster} reopened at ${at(row)}`],
  "consumer.connected": (row) => [b(row.client), ` subscribes in ${row.cluster}`],
  "consumer.disconnected": (row) => [b(row.client), ` leaves ${row.cluster} (${row.reason})`],
  "consumer.activated": (row) => [b(row.client), ` is the active consumer in ${row.cluster}`],
  "consumer.blocked": (row) => [h(`dispatch stops`), ` at ${row.count} unacknowledged${row.client ? ` with ${row.client}` : ""}`],
  "consumer.unblocked": (row) => [`dispatch goes on${row.client ? ` to ${row.client}` : ""}`],
  "replicator.created": (row) => [`replication ${row.cluster} → ${row.peer} begins after ${at(row)}`],
  "replicator.removed": (row) => [h(`replication ${row.cluster} → ${row.peer} taken off the list`)],
  "replicator.started": (row) => [`replicator ${row.cluster} → ${row.peer} connected`],
  "replicator.disconnected": (row) => [h(`replicator ${row.cluster} → ${row.peer} disconnected`), ` (${row.reason})`],
  "replicator.rewound": (row) => [`replicator ${row.cluster} → ${row.peer} reads again after ${at(row)}`],
  "failover.started": (row) => [h(`${row.subscription} moves from ${row.cluster} to ${row.peer}`), ` (${row.reason})`],
  "failover.finished": (row) => [`consumers of ${row.subscription} have subscribed in `, b(row.peer)],
  "shadow.created": (row) => [b(row.topic), ` is there, a shadow of ${row.reason} in ${row.cluster}`],
  "shadow.load-failed": (row) => [h(`shadow ${row.topic} cannot be opened`), `: ${row.reason} is not there`],
  "shadow.deleted": (row) => [h(`shadow ${row.topic} deleted`), ` in ${row.cluster}`],
  "shadow.topics-set": (row) => [b(row.topic), row.count ? ` feeds ${row.detail}` : " feeds no shadow topic any more"],
  "shadow.replicator-created": (row) => [`${row.reason} feeds `, b(row.topic), ` from now on, with what comes after ${at(row)}`],
  "shadow.replicator-started": (row) => ["the replicator that feeds ", b(row.topic), " is connected"],
  "shadow.replicator-stopped": (row) => [h(`the replicator that feeds ${row.topic} is not connected any more`), ` (${row.reason})`],
  "shadow.replicator-reset": (row) => [h(`the replicator that feeds ${row.topic} jumps`), ` over ${row.count} entries to ${there(row)}`],
  "shadow.entry-skipped": (row) => [b(row.topic), ` is not told of ${at(row)} (${row.reason})`],
  "shadow.entry-refused": (row) => [h(`${row.topic} does not take ${at(row)}`), ": it is no shadow topic"],
  "shadow.ledgers-read": (row) => [b(row.topic), ` reads its source's list of ${row.count === 1 ? "one ledger" : `${row.count} ledgers`}; the last is ${row.ledger}`],
  "shadow.watch-ignored": (row) => [b(row.topic), " hears of a change that it has read already"],
  "shadow.added": (row) => [b(row.topic), ` sees up to ${at(row)}${row.reason === "client" ? ", as a client said" : ""}`],
  "shadow.add-queued": (row) => [b(row.topic), ` is told of ${at(row)} and does not know that ledger yet`],
  "shadow.confirmed": (row) => [b(row.topic), ` sees up to ${there(row)} (${row.reason})`],
  "message.lost": (row) => [h(`${row.producer}/${row.sequence_id} is lost for ${row.subscription}`), `: ${row.topic}'s source deleted its ledger (${row.reason})`],
  "entry.unreadable": (row) => [h(`${at(row)} cannot be read`), ` by ${row.topic} in ${row.cluster} (${row.reason})`],
  "topic.terminated": (row) => [h(`${row.topic} takes no more messages`), ` in ${row.cluster}; its last is ${at(row)}`],
  "ledger.offloaded": (row) => [`${row.cluster} copies ledger ${row.ledger} with ${row.count} entries to ${row.reason}`],
  "ledger.deleted": (row) => [`the bookies of ${row.cluster} hold ledger ${row.ledger} no more (${row.reason})`],
  ...CREATION_ROWS,
};

/** Rows that repeat what another row says: a marker's writing and travels, the positions of a snapshot. */
const DETAILS = new Set(["marker.sent", "marker.handled", "marker.stored", "snapshot.position", "update.position", "cursor.persisted"]);

/** @returns {boolean} whether the list of protocol events leaves it out */
export const isDetail = (row) => DETAILS.has(row.type) || (row.type === "marker.written" && row.reason !== "snapshot_response");

/** @returns {string | null} glyph that stands before a row: a marker's own, or one for a snapshot or a cursor; null for any other row */
export function glyphOfRow(row) {
  if (row.type.startsWith("marker.")) return row.reason;
  if (row.type.startsWith("snapshot.")) return { "snapshot.requested": "snapshot_request", "snapshot.answered": "snapshot_response", "snapshot.refused": "dot" }[row.type] ?? "snapshot";
  if (row.type.startsWith("update.")) return "subscription_update";
  if (row.type.startsWith("cursor.")) return "pin";
  return null;
}
