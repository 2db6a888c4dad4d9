/**
 * The line of each event of Pulsar in the list, as parts: plain text and {strong} or {harm}.
 * Lines of events that all protocols share are in the shell's `model/event_rows.js`.
 */

import { counted, span } from "../../../model/format.js";
import { reasonWords } from "../../../model/shared_words.js";
import { fullName, shortName, snapshotName } from "./snapshot_names.js";
import { foldSnapshots, noSnapshots } from "./snapshots.js";

/** The lines of the events of namespaces, topics and schemas; `row_words.js` includes them. */

const b = (text) => ({ strong: String(text) });
const h = (text) => ({ harm: String(text) });
const shape = (count) => (count ? `with ${count} partitions` : "as a plain topic");
const who = (row) => row.client ?? (row.peer ? `the replicator from ${row.peer}` : "an administrator");
const CREATED_BY = {
  client: (row) => `auto-created for ${row.client}${row.peer ? `, same partition count as in ${row.peer}` : ""}`,
  replicator: (row) => `auto-created for the replicator from ${row.peer}`,
  reconnection: (row) => `auto-created when the replicator from ${row.peer} reconnected`,
  "copied-request": (row) => `copied from ${row.peer}`,
  "set-replication-clusters": (row) => `replication list of the topic set in ${row.peer}`,
  command: () => "by command",
};

/** @type {Object<string, (row: object) => Array<string | object>>} */
export const CREATION_ROWS = {
  "namespace.created": (row) => [b(row.detail), ` exists in ${row.cluster}`],
  "policy.changed": (row) => [b(row.reason), ` of ${row.topic ?? "a namespace"} changed in ${row.cluster}: ${row.detail}`],
  "topic.created": (row) => [b(row.topic), ` created in ${row.cluster} ${shape(row.count)}: ${(CREATED_BY[row.reason] ?? (() => row.reason))(row)}`],
  "topic.creation-refused": (row) => [h(`${row.topic} not created`), ` in ${row.cluster}: ${row.detail}`],
  "topic.partitions-changed": (row) => [b(row.topic), ` has ${row.count} partitions in ${row.cluster} (${reasonWords(row.reason)})`],
  "topic.deleted": (row) => [h(`${row.topic} deleted`), ` in ${row.cluster} (${reasonWords(row.reason)})`],
  "replicator.start-refused": (row) => [h(`replicator ${row.cluster} → ${row.peer} of ${row.topic} refused`), `, attempt ${row.count}: ${row.detail}`],
  "replicator.stopped": (row) => [h(`replicator ${row.cluster} → ${row.peer} stops before ${row.ledger}:${row.entry}`), ` while connected: ${row.detail}`],
  "schema.used": (row) => [b(row.producer), ` uses schema ${row.detail ?? "none"} from message ${row.sequence_id} on`],
  "schema.registered": (row) => [b(row.detail), ` registered as schema version ${row.count} of ${row.topic} in ${row.cluster} by ${who(row)}`],
  "schema.refused": (row) => [h(`schema refused`), ` for ${row.topic} in ${row.cluster}, offered by ${who(row)}: ${row.detail}`],
  "schema.deleted": (row) => [h(`${row.count} schemas of ${row.topic} deleted`), ` in ${row.cluster}`],
};

const whose = (row, state, later) => (state.under_heading ? shortName : fullName)(state, row.snapshot, later);
const snap = (row, state, later) => b(whose(row, state, later));
const at = (row) => `${row.ledger}:${row.entry}`;
const there = (row) => `${row.to_ledger}:${row.to_entry}`;
const message = (row) => b(`${row.producer}/${row.sequence_id}`);
const MARKER_WORDS = { snapshot_request: "request", snapshot_response: "response", snapshot: "snapshot marker", subscription_update: "update" };
const marker = (row, state, later) => `${MARKER_WORDS[row.reason] ?? row.reason}${row.snapshot !== undefined ? ` of ${whose(row, state, later)}` : ""}${row.subscription ? ` for ${row.subscription}` : ""}`;
const REFUSED = {
  pending: "one is pending and none has completed yet",
  "no-new-data": "no new messages since the last one",
  "replicator-disconnected": "a replicator is not connected",
};

/** @type {Object<string, (row: object, state: object, later?: object[]) => Array<string | object>>} */
export const PULSAR_ROWS = {
  "cluster.crashed": (row) => [h(`${row.cluster} crashed`)],
  "cluster.restarted": (row) => [b(row.cluster), " restarted"],
  "cluster.lost": (row) => [h(`${row.cluster} is lost permanently`)],
  "setting.changed": (row) => [b(row.reason), ` is now ${row.detail} in ${row.cluster}`],
  "topic.loaded": (row) => [`${row.topic} loaded in `, b(row.cluster)],
  "topic.unloaded": (row) => [`${row.topic} unloaded in `, b(row.cluster), ` (${reasonWords(row.reason)})`],
  "ledger.opened": (row) => [`${row.cluster} opened ledger `, b(row.ledger)],
  "ledger.closed": (row) => [`${row.cluster} closed ledger ${row.ledger} with ${row.count} entries`],
  "ledger.trimmed": (row) => [`${row.cluster} trimmed ledger ${row.ledger} with ${row.count} entries`],
  "message.held": (row) => [message(row), ` delivered, not acked by ${row.client}${row.duration_us === undefined ? "" : ` for ${span(row.duration_us)}`}`],
  "message.receipted": (row) => [message(row), " acknowledged to the producer"],
  "message.replicated": (row) => [message(row), ` sent by the replicator ${row.cluster} → ${row.peer}`],
  "message.registered": (row) => ["acknowledgement of ", message(row), ` registered by the broker in ${row.cluster}`],
  "message.resent": (row) => [message(row), ` resent by its producer, attempt ${row.count}`],
  "message.deduplicated": (row) => [message(row), ` dropped by message deduplication in ${row.cluster}, not stored`],
  "message.send-failed": (row) => [h(`sending ${row.producer}/${row.sequence_id} failed`), ` (${reasonWords(row.reason)})`],
  "message.not-replicated": (row) => [message(row), ` not replicated to ${row.peer} (${reasonWords(row.reason)})`],
  "message.negatively-acknowledged": (row) => [message(row), ` negatively acknowledged by ${row.client}, will be redelivered`],
  "message.expired": (row) => [message(row), ` expired in ${row.cluster}`],
  "message.skipped": (row) => [message(row), ` skipped in ${row.cluster} (${reasonWords(row.reason)})`],
  "message.evicted": (row) => [message(row), ` evicted by the backlog quota in ${row.cluster}`],
  "topic.quota-exceeded": (row) => [`backlog quota ${row.reason} of ${row.topic} exceeded in `, b(row.cluster), `: ${row.detail}`],
  "producer.blocked": (row) => [`${row.client} blocked in ${row.cluster} by the backlog quota (${reasonWords(row.reason)})`],
  "producer.unblocked": (row) => [`${row.client} accepted again in ${row.cluster}: the backlog quota is not exceeded`],
  "message.dropped": (row) => [message(row), row.peer === row.cluster ? " dropped by " : h(" dropped by "), `${row.client} in ${row.cluster}: not above its last cumulative ack, ${row.to_ledger}:${row.to_entry} in ${row.peer}`],
  "message.removed": (row) => [message(row), ` deleted with its ledger in ${row.cluster}`],
  "marker.filtered": (row, state, later) => [`${marker(row, state, later)} read by the dispatcher of ${row.subscription} in `, b(row.cluster), ", never delivered"],
  "cursor.persisted": (row) => [`cursor of ${row.subscription} in ${row.cluster} persisted at ${at(row)}`],
  "marker.written": (row, state, later) => (row.reason === "snapshot_response" ? [b(row.cluster), ` writes its response to ${whose(row, state, later)} at ${at(row)}`] : [b(row.cluster), ` writes the ${marker(row, state, later)} at ${at(row)}`]),
  "marker.sent": (row, state, later) => [`${marker(row, state, later)} sent by the replicator ${row.cluster} → ${row.peer}`],
  "marker.stored": (row, state, later) => [`${marker(row, state, later)} stored in `, b(row.cluster), ` at ${at(row)}`],
  "marker.handled": (row, state, later) => [b(row.cluster), ` handles the ${marker(row, state, later)} from ${row.peer}`],
  "marker.lost": (row, state, later) => [h(`${marker(row, state, later)} lost`), ` between ${row.cluster} and ${row.peer}`],
  "marker.delayed": (row, state, later) => [h(`${marker(row, state, later)} delayed`), ` by ${span(row.duration_us)} between ${row.cluster} and ${row.peer}`],
  "marker.dropped": (row, state, later) => [h(`${marker(row, state, later)} dropped`), ` between ${row.cluster} and ${row.peer}`],
  "controller.started": (row) => ["snapshot controller starts in ", b(row.cluster), row.reason === "forced" ? " because a remote marker arrived" : ""],
  "controller.stopped": (row) => [`snapshot controller stops in ${row.cluster} (${reasonWords(row.reason)})`],
  "snapshot.requested": (row, state, later) => [b(row.cluster), " requests ", b(shortName(state, row.snapshot, later)), `, round ${row.count ?? 1}`],
  "snapshot.refused": (row) => [b(row.cluster), ` skips snapshot: ${REFUSED[row.reason] ?? row.reason}`],
  "snapshot.answered": (row, state, later) => ["response of ", b(row.peer), ` to ${whose(row, state, later)}: ${there(row)}`],
  "snapshot.answer-ignored": (row) => [`response of ${row.peer} ignored: ${reasonWords(row.reason)}`],
  "snapshot.completed": (row, state, later) => [snap(row, state, later), row.reason === "partial" ? " completed with responses missing (partial)" : " completed", ` in ${span(row.duration_us ?? 0)}, local position ${at(row)}`],
  "snapshot.position": (row, state, later) => [`${whose(row, state, later)}: position ${there(row)} in ${row.peer}`],
  "snapshot.timed-out": (row, state, later) => [h(`${whose(row, state, later)} timed out`)],
  "controller.tick-failed": (row) => [b(row.cluster), `'s first snapshot tick for ${row.topic} ended with an exception`],
  "snapshot.abandoned": (row, state, later) => [h(`${whose(row, state, later)} abandoned`), ` (${reasonWords(row.reason)})`],
  "snapshot.cached": (row, state, later) => [snap(row, state, later), ` cached for ${row.subscription}, usable from mark-delete ${at(row)}`],
  "snapshot.evicted": (row, state, later) => [`${whose(row, state, later)} evicted from the cache, unused (${reasonWords(row.reason)})`],
  "snapshot.used": (row, state, later) => [snap(row, state, later), ` used: mark-delete of ${row.subscription} reached ${at(row)}`],
  "update.written": (row, state, later) => [b(row.cluster), ` publishes update of ${row.subscription} ${row.snapshot === undefined ? "without a position" : `for ${shortName(state, row.snapshot, later)}`}`],
  "update.position": (row) => [`update: position ${there(row)} in ${row.peer}`],
  "update.applied": (row) => [b(row.cluster), ` applies ${row.peer}'s update of ${row.subscription}: mark-delete ${there(row)}`],
  "acknowledgements.sent": (row) => [b(row.cluster), ` syncs acks of ${row.subscription} to ${row.peer}: mark-delete ${at(row)} and ${row.count} individually deleted`],
  "acknowledgements.applied": (row) => [b(row.cluster), ` applies acks of ${row.subscription} from ${row.peer}: mark-delete ${there(row)} and ${row.count} individually deleted`],
  "acknowledgements.lost": (row) => [h(`ack state of ${row.subscription} lost`), ` between ${row.cluster} and ${row.peer}`],
  "message.listed": (row) => [message(row), ` individually deleted in ${row.cluster}: listed in ${row.peer}'s update`],
  "message.filtered": (row) => [message(row), ` filtered in ${row.cluster}: acknowledged in ${row.peer}`],
  "topic.assigned": (row) => [`${row.topic} assigned to `, b(row.broker), ` in ${row.cluster}`],
  "message.dispatched": (row) => [message(row), ` dispatched to ${row.client} in ${row.cluster}, ${span(row.duration_us)} of the broker's time`],
  "tenant.mapped": (row) => [h(`LookupService: ${row.tenant} is now in ${row.cluster}`), `, before in ${row.peer}`],
  "lookup.answered": (row) => [b(row.client), row.reason === "lookup" ? ` looks up ${row.topic}: in ${row.cluster}` : ` gets the ${row.reason.replace("-", " ")} of ${row.topic}`],
  "lookup.failed": (row) => [h(`lookup of ${row.topic} by ${row.client} failed`), ` (${reasonWords(row.reason)}), attempt ${row.count}`],
  "lookup.stopped": () => [h("LookupService stopped")],
  "lookup.started": () => ["LookupService started"],
  "producer.connected": (row) => ["producer ", b(row.client), ` connected to ${row.cluster}`],
  "producer.disconnected": (row) => ["producer ", b(row.client), ` disconnected from ${row.cluster} (${reasonWords(row.reason)})`],
  "client.redirected": (row) => [b(row.client), ` redirected from ${row.cluster} to ${row.peer}`],
  "migration.started": (row) => [h(`migration of ${row.tenant} from ${row.cluster} to ${row.peer} begins`), ` (${reasonWords(row.reason)})`],
  "migration.step-began": (row) => [b(row.tenant), `: step ${reasonWords(row.reason)} begins${row.count > 1 ? `, attempt ${row.count}` : ""}`],
  "migration.step-finished": (row) => [b(row.tenant), `: step ${reasonWords(row.reason)} finished after ${span(row.duration_us)}`],
  "migration.step-failed": (row) => [h(`${row.tenant}: step ${reasonWords(row.reason)} failed`), `: ${row.detail}`],
  "migration.step-undone": (row) => [b(row.tenant), `: step ${reasonWords(row.reason)} rolled back`],
  "migration.changed": (row) => [b(row.tenant), `: ${reasonWords(row.reason)}`],
  "migration.ended": (row) => [b(row.tenant), `: migration ${reasonWords(row.reason)}`],
  "resource.created": (row) => [`${row.reason} `, b(row.detail), ` created in ${row.cluster}`],
  "resource.deleted": (row) => [`${row.reason} `, b(row.detail), ` deleted in ${row.cluster}`],
  "cluster.migration-marked": (row) => [h(`${row.detail ?? row.cluster} is ${row.count ? "" : "no longer "}marked migrated`), ` in ${row.cluster}`],
  "topic.migrated": (row) => [`${row.cluster} redirects clients of ${row.topic} to `, b(row.peer)],
  "update.refused": (row) => [`${row.cluster} ignores the update of ${row.subscription}: ${reasonWords(row.reason)}`],
  "subscription.created": (row) => [b(row.subscription), ` created in ${row.cluster} after ${at(row)} (${reasonWords(row.reason)})`],
  "subscription.deleted": (row) => [h(`${row.subscription} deleted`), ` in ${row.cluster}`],
  "subscription.replication-switched": (row) => [`replication of ${row.subscription} switched ${row.count ? "on" : "off"} in ${row.cluster}`],
  "cursor.moved": (row) => [`mark-delete of ${row.subscription} in ${row.cluster} → `, b(there(row)), row.reason === "acknowledgement" ? "" : ` (${reasonWords(row.reason)})`],
  "cursor.recovered": (row) => [`cursor of ${row.subscription} in ${row.cluster} recovered at ${at(row)}`],
  "consumer.connected": (row) => [b(row.client), ` connected in ${row.cluster}`],
  "consumer.disconnected": (row) => [b(row.client), ` disconnected in ${row.cluster} (${reasonWords(row.reason)})`],
  "consumer.activated": (row) => [b(row.client), ` is the active consumer in ${row.cluster}`],
  "consumer.blocked": (row) => [h(`dispatch blocked`), ` at ${row.count} unacked messages${row.client ? ` of ${row.client}` : ""}`],
  "consumer.unblocked": (row) => [`dispatch unblocked${row.client ? ` for ${row.client}` : ""}`],
  "replicator.created": (row) => [`replicator ${row.cluster} → ${row.peer} created, starts after ${at(row)}`],
  "replicator.removed": (row) => [h(`replicator ${row.cluster} → ${row.peer} removed`)],
  "replicator.started": (row) => [`replicator ${row.cluster} → ${row.peer} connected`],
  "replicator.disconnected": (row) => [h(`replicator ${row.cluster} → ${row.peer} disconnected`), ` (${reasonWords(row.reason)})`],
  "replicator.rewound": (row) => [`replicator ${row.cluster} → ${row.peer} rewound to ${at(row)}`],
  "failover.started": (row) => [h(`failover of ${row.subscription} from ${row.cluster} to ${row.peer}`), ` (${reasonWords(row.reason)})`],
  "failover.finished": (row) => [`consumers of ${row.subscription} connected in `, b(row.peer)],
  "shadow.created": (row) => [b(row.topic), ` created as a shadow of ${row.reason} in ${row.cluster}`],
  "shadow.load-failed": (row) => [h(`shadow ${row.topic} cannot be loaded`), `: ${row.reason} does not exist`],
  "shadow.deleted": (row) => [h(`shadow ${row.topic} deleted`), ` in ${row.cluster}`],
  "shadow.topics-set": (row) => [b(row.topic), row.count ? `: shadow topics set to ${row.detail}` : ": shadow topics removed"],
  "shadow.replicator-created": (row) => [`shadow replicator ${row.reason} → `, b(row.topic), ` created, starts after ${at(row)}`],
  "shadow.replicator-started": (row) => ["shadow replicator to ", b(row.topic), " connected"],
  "shadow.replicator-stopped": (row) => [h(`shadow replicator to ${row.topic} disconnected`), ` (${reasonWords(row.reason)})`],
  "shadow.replicator-reset": (row) => [h(`shadow replicator to ${row.topic} skips ${row.count} entries`), `, continues at ${there(row)}`],
  "shadow.entry-skipped": (row) => [`${at(row)} not sent to `, b(row.topic), ` (${reasonWords(row.reason)})`],
  "shadow.entry-refused": (row) => [h(`${row.topic} refused ${at(row)}`), ": it is not a shadow topic"],
  "shadow.ledgers-read": (row) => [b(row.topic), ` read its source's list of ${row.count === 1 ? "1 ledger" : `${row.count} ledgers`}, the last is ${row.ledger}`],
  "shadow.watch-ignored": (row) => [b(row.topic), " ignores a metadata notification: it has read that version"],
  "shadow.added": (row) => [b(row.topic), ` last confirmed entry ${at(row)}${row.reason === "client" ? ", as claimed by a client's message" : ""}`],
  "shadow.add-queued": (row) => [b(row.topic), ` queued ${at(row)}: its ledger is not in the list yet`],
  "shadow.confirmed": (row) => [b(row.topic), ` last confirmed entry ${there(row)} (${reasonWords(row.reason)})`],
  "message.lost": (row) => [h(`${row.producer}/${row.sequence_id} is lost for ${row.subscription}`), `: ${row.topic}'s source deleted its ledger (${reasonWords(row.reason)})`],
  "entry.unreadable": (row) => [h(`${at(row)} cannot be read`), ` by ${row.topic} in ${row.cluster} (${reasonWords(row.reason)})`],
  "topic.terminated": (row) => [h(`${row.topic} terminated`), ` in ${row.cluster}, last entry ${at(row)}`],
  "ledger.offloaded": (row) => [`${row.cluster} offloaded ledger ${row.ledger} with ${row.count} entries to ${row.reason}`],
  "ledger.deleted": (row) => [`ledger ${row.ledger} deleted from the bookies of ${row.cluster} (${reasonWords(row.reason)})`],
  ...CREATION_ROWS,
};

/** Types of rows that repeat what another row reports: writing and path of a marker, positions of a snapshot. */
const DETAILS = new Set(["marker.sent", "marker.handled", "marker.stored", "snapshot.position", "update.position", "cursor.persisted"]);

/** @returns {boolean} whether the list of protocol events leaves the row out */
export const isDetail = (row) => DETAILS.has(row.type) || (row.type === "marker.written" && row.reason !== "snapshot_response");

/** @returns {boolean} whether a row about a message is also listed among the protocol events */
export const isProtocolMessage = (row) => row.type === "message.held";

/** @returns {string | false} key of rows that repeat each other: a cursor that moves with every acknowledgement, a snapshot skipped for the same reason */
export function repeatOf(row) {
  if (row.type === "cursor.moved") return row.reason === "acknowledgement" && `${row.cluster}|${row.topic}|${row.subscription}`;
  return row.type === "snapshot.refused" && `${row.cluster}|${row.topic}|${row.reason}`;
}

/** @returns {string | null} glyph before a row: of a marker, a snapshot or a cursor; null for other rows */
export function glyphOfRow(row) {
  if (row.type.startsWith("marker.")) return row.reason;
  if (row.type.startsWith("snapshot.")) return { "snapshot.requested": "snapshot_request", "snapshot.answered": "snapshot_response", "snapshot.refused": "dot" }[row.type] ?? "snapshot";
  if (row.type.startsWith("update.")) return "subscription_update";
  if (row.type.startsWith("cursor.")) return "pin";
  return null;
}

/** The groups of the event list: the rows of one snapshot, with its result as their heading. */

/** @returns {string | null} */
export const groupOfRow = (row) => (row.snapshot === undefined ? null : `snapshot ${row.snapshot}`);

/** How a completed snapshot ended in the cache of a subscription. */
const KEPT = { cached: "ready", used: "used", evicted: "evicted unused" };

/**
 * @param {string} key as `groupOfRow` makes it
 * @param {any} state
 * @param {object[]} later rows after the instant shown, if the group consists of them
 */
export function wordsOfGroup(key, state, later) {
  const number = Number(key.split(" ")[1]);
  const name = snapshotName(state, number, later);
  const snapshot = later.length ? foldSnapshots(noSnapshots(), later).get(number) : state.snapshots.get(number);
  return [{ strong: name ? `${name.region} ${name.name}` : "Snapshot" }, snapshot ? ` ${resultOf(snapshot)}` : ""];
}

function resultOf({ state, round, ended_us, asked_us, kept, partial }) {
  const taken = asked_us === null || ended_us === null ? "" : ` ${span(ended_us - asked_us)}`;
  if (state === "pending") return `pending, round ${round}`;
  if (state === "timed-out") return taken ? `timed out after${taken}` : "timed out";
  if (state === "abandoned") return "abandoned";
  return `${partial ? "partial" : "completed"}${taken && ` in${taken}`}${usesOf(kept)}`;
}

/** ", used", or ", used by 2 of 3 subscriptions" where several have it in their cache. */
function usesOf(kept) {
  const states = Object.values(kept).map((one) => one.state);
  if (states.length === 0) return "";
  if (states.every((one) => one === states[0])) return `, ${KEPT[states[0]]}`;
  return `, used by ${states.filter((one) => one === "used").length} of ${counted(states.length, "subscription")}`;
}

/** Texts for Pulsar's faults and failovers on time axes. */

/** @type {import("../../../model/marks.js").MarkWords} */
export const MARKS = {
  rows: {
    "cluster.crashed": (row) => `${row.cluster} crashed`,
    "cluster.restarted": (row) => `${row.cluster} restarted`,
    "cluster.lost": (row) => `${row.cluster} lost`,
    "failover.started": (row) => `to ${row.peer}`,
  },
  planned: {
    "cluster.crash": ({ cluster }) => `crash ${cluster}`,
    "cluster.restart": ({ cluster }) => `restart ${cluster}`,
    "link.partition": () => "partition link",
    "subscription.fail-over": ({ to }) => `to ${to}`,
  },
};

/** @returns {"completed" | "failed" | null} how the row ends a snapshot; null for other rows */
export const snapshotEnd = (row) => ({ "snapshot.completed": "completed", "snapshot.timed-out": "failed", "snapshot.abandoned": "failed" })[row.type] ?? null;
