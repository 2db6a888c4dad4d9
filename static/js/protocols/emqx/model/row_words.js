/**
 * The line of each event of durable shared subscriptions in the list.
 * Columns: a node is in `cluster`, a stream in `topic`, a group in `subscription`, a session in `client`.
 */

import { span } from "../../../model/format.js";
import { reasonWords } from "../../../model/shared_words.js";

const b = (text) => ({ strong: String(text) });
const h = (text) => ({ harm: String(text) });
const from = (row) => (row.entry === undefined ? "its end" : String(row.entry));
const until = (entry) => (entry === undefined ? "the end" : String(entry));
const about = (row) => `${row.topic === undefined ? "" : ` of ${row.topic}`}${row.subscription === undefined ? "" : ` in ${row.subscription}`}`;
const LEASES = { granted: "is granted", revoking: "stops reading", absent: "has released" };
const ASSIGNED = { granting: "is being granted to", granted: "is granted to", revoking: "is being revoked from", revoked: "is revoked from", free: "is unassigned, before" };
const LOST = { loss: "on the link", "link-cut": "the link is cut", "node-down": "the node is down", "no-such-process": "its receiver has ended", "own-node": "sent to the borrower's own node, not to its leader's", command: "by a command" };
const subscribed = (row) => `${row.detail}${row.subscription === undefined ? "" : `, in group ${row.subscription}`}`;

/** @type {Object<string, (row: object) => Array<string | object>>} */
export const GROUP_ROWS = {
  "node.crashed": (row) => [h(`${row.cluster} crashed`), ", with its sessions and leaders"],
  "node.restarted": (row) => [b(row.cluster), " restarted without sessions and leaders"],
  "session.connected": (row) => [b(row.client), ` connected to ${row.cluster} (${reasonWords(row.reason)})`],
  "session.disconnected": (row) => [row.reason === "closed" ? b(row.client) : h(row.client), ` disconnected (${reasonWords(row.reason)})`],
  "session.subscribed": (row) => [b(row.client), ` subscribed to ${subscribed(row)}`],
  "session.unsubscribed": (row) => [b(row.client), ` unsubscribed from ${subscribed(row)}`],
  "group.declared": (row) => [b(row.subscription), ` declared (${row.detail}), starts with messages stored from ${span(row.duration_us)} on`],
  "group.destroyed": (row) => [h(`${row.subscription} destroyed`), ", its progress deleted"],
  "stream.opened": (row) => ["stream opened: ", b(row.topic)],
  "stream.closed": (row) => [`stream ${row.topic} closed after ${row.entry} messages`],
  "generation.opened": (row) => [`generation ${row.ledger} opened`, `: ${row.count} streams closed`],
  "shards.added": (row) => [`storage has ${row.entry} shards, ${row.count} more`],
  "node.stopped": (row) => [b(row.cluster), " stopped: its leaders commit and release their claims, its connections close"],
  "store.unreachable": (row) => [h(`${row.cluster} cannot reach the leaders' store for ${span(row.duration_us)}`)],
  "leader.blocked": (row) => [h(`leader ${row.count} of ${row.subscription} blocked`), `: its commit at ${row.cluster} waits for the store`],
  "leader.unblocked": (row) => [b(`leader ${row.count}`), ` of ${row.subscription} unblocked: its commit ${row.reason === "answered" ? "was answered" : "timed out after 60 s"}`],
  "config.updated": (row) => [b(row.reason), ` set to ${row.detail} on all nodes`],
  "store.failed": (row) => [h(`leaders' store unavailable for ${span(row.duration_us)}`)],
  "protocol.sent": (row) => [`${row.reason}${about(row)} sent from ${row.cluster} to ${row.peer} (${row.client})`],
  "protocol.arrived": (row) => [`${row.reason}${about(row)} received by ${row.cluster} (${row.client})`],
  "protocol.lost": (row) => [h(`${row.reason} lost`), `${about(row)} (${row.client}): ${LOST[row.detail] ?? row.detail}`],
  "protocol.delayed": (row) => [h(`${row.reason} delayed`), ` by ${span(row.duration_us)}${about(row)} (${row.client})`],
  "protocol.duplicated": (row) => [h(`${row.reason} duplicated`), `${about(row)} (${row.client})`],
  "borrower.changed": (row) => [b(row.client), `'s borrower ${row.count} for ${row.subscription} is ${row.reason}${row.detail ? `: ${row.detail}` : ""}`],
  "lease.changed": (row) => [b(row.client), ` ${LEASES[row.reason] ?? row.reason} ${row.topic}${row.reason === "granted" ? ` from ${from(row)}` : ""}`],
  "chunk.fetched": (row) => [`${row.client} fetched ${row.topic} from ${row.entry} to ${row.to_entry} (${reasonWords(row.reason)})`],
  "progress.told": (row) => [`${row.client} reports ${row.topic} acknowledged up to ${from(row)}`],
  "leader.elected": (row) => [b(`leader ${row.count}`), ` of ${row.subscription} elected at ${row.cluster} (${reasonWords(row.reason)})`],
  "leader.followed": (row) => [`${row.cluster} finds leader ${row.count} of ${row.subscription} at ${row.peer}, its claim valid for ${span(row.duration_us)} more`],
  "election.failed": (row) => [h(`election for ${row.subscription} failed`), ` at ${row.cluster}: ${row.detail}`],
  "leader.ended": (row) => [h(`leader ${row.count} of ${row.subscription} ended`), `: ${reasonWords(row.reason)}`],
  "leader.round": (row) => [`leader ${row.count} of ${row.subscription} assigns ${row.entry} streams to ${row.sequence_id} borrowers`],
  "leader.committed": (row) => [`leader ${row.count} of ${row.subscription} committed ${row.entry} positions`],
  "stream.found": (row) => [`leader of ${row.subscription} found stream ${row.topic}, starts at ${row.entry}`],
  "progress.loaded": (row) => [`leader ${row.count} of ${row.subscription} loaded ${row.topic} at ${from(row)}`],
  "progress.saved": (row) => [`leader ${row.count} of ${row.subscription} received progress of ${row.client}: ${row.topic} at ${until(row.to_entry)}`],
  "progress.persisted": (row) => [`committed: ${row.topic} of ${row.subscription} at ${from(row)}`],
  "assignment.changed": (row) => [b(row.topic), ` ${ASSIGNED[row.reason] ?? row.reason} ${row.client} (borrower ${row.count}), at ${from(row)}`],
  "borrower.joined": (row) => [`leader of ${row.subscription} added `, b(row.client), ` (borrower ${row.count})`],
  "borrower.dropped": (row) => [`leader of ${row.subscription} dropped ${row.client} (borrower ${row.count}): ${reasonWords(row.reason)}`],
};

/** A lost message that is sent again and again is one line of a list. @returns {string | false} */
export function repeatOf(row) {
  return row.type === "protocol.lost" && `${row.client}|${row.subscription}|${row.topic}|${row.reason}|${row.detail}`;
}

/** Texts for EMQX's faults on time axes. */

/** @type {import("../../../model/marks.js").MarkWords} */
export const MARKS = {
  rows: {
    "node.crashed": (row) => `${row.cluster} crashed`,
    "leader.ended": (row) => (row.reason === "crashed" ? `leader ${row.count} crashed` : ""),
    "node.restarted": (row) => `${row.cluster} restarted`,
  },
  planned: {},
};
