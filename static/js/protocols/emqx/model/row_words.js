/** One line in words for each event of durable shared subscriptions. A node is in `cluster`, a stream in `topic`, a group in `subscription`, a session in `client`. */

import { span } from "../../../model/format.js";

const b = (text) => ({ strong: String(text) });
const h = (text) => ({ harm: String(text) });
const from = (row) => (row.entry === undefined ? "its end" : String(row.entry));
const until = (entry) => (entry === undefined ? "the end" : String(entry));
const about = (row) => `${row.topic === undefined ? "" : ` of ${row.topic}`}${row.subscription === undefined ? "" : ` in ${row.subscription}`}`;
const LEASES = { granted: "may read", revoking: "reads no further", absent: "has given back" };
const ASSIGNED = { granting: "is offered to", granted: "belongs to", revoking: "is asked back from", revoked: "was given back by", free: "is nobody's: it was" };
const subscribed = (row) => `${row.detail}${row.subscription === undefined ? "" : `, a share of ${row.subscription}`}`;

/** @type {Object<string, (row: object) => Array<string | object>>} */
export const GROUP_ROWS = {
  "node.crashed": (row) => [h(`${row.cluster} crashes`), ", with every session and leader there"],
  "node.restarted": (row) => [b(row.cluster), " is up again, empty"],
  "session.connected": (row) => [b(row.client), ` connects to ${row.cluster} (${row.reason})`],
  "session.disconnected": (row) => [row.reason === "closed" ? b(row.client) : h(row.client), ` is disconnected (${row.reason})`],
  "session.subscribed": (row) => [b(row.client), ` subscribes to ${subscribed(row)}`],
  "session.unsubscribed": (row) => [b(row.client), ` unsubscribes from ${subscribed(row)}`],
  "group.declared": (row) => [b(row.subscription), ` is declared (${row.detail}): it reads what was stored from ${span(row.duration_us)} on`],
  "group.destroyed": (row) => [h(`${row.subscription} is destroyed`), " with its progress"],
  "stream.opened": (row) => [`storage opens stream `, b(row.topic)],
  "stream.closed": (row) => [`stream ${row.topic} ends after ${row.entry} messages`],
  "generation.opened": (row) => [`generation ${row.ledger} begins`, `: ${row.count} streams end`],
  "shards.added": (row) => [`storage has ${row.entry} shards, ${row.count} more`],
  "node.stopped": (row) => [b(row.cluster), " is stopped: its leaders commit and give their claims back, its connections close"],
  "store.unreachable": (row) => [h(`${row.cluster} cannot reach the leaders' store for ${span(row.duration_us)}`)],
  "leader.blocked": (row) => [h(`leader ${row.count} of ${row.subscription} handles nothing`), `: its commit at ${row.cluster} waits for the store`],
  "leader.unblocked": (row) => [b(`leader ${row.count}`), ` of ${row.subscription} goes on: its commit ${row.reason === "answered" ? "is answered" : "was given up after 60 s"}`],
  "config.updated": (row) => [b(row.reason), ` is ${row.detail} from now on, on all nodes`],
  "store.failed": (row) => [h(`the leaders' store answers nobody for ${span(row.duration_us)}`)],
  "protocol.sent": (row) => [`${row.reason}${about(row)} leaves ${row.cluster} for ${row.peer} (${row.client})`],
  "protocol.arrived": (row) => [`${row.reason}${about(row)} reaches ${row.cluster} (${row.client})`],
  "protocol.lost": (row) => [h(`${row.reason} is lost`), `${about(row)} (${row.client}): ${row.detail}`],
  "protocol.delayed": (row) => [h(`${row.reason} is delayed`), ` by ${span(row.duration_us)}${about(row)} (${row.client})`],
  "protocol.duplicated": (row) => [h(`${row.reason} comes twice`), `${about(row)} (${row.client})`],
  "borrower.changed": (row) => [b(row.client), `'s borrower ${row.count} for ${row.subscription} is ${row.reason}${row.detail ? `: ${row.detail}` : ""}`],
  "lease.changed": (row) => [b(row.client), ` ${LEASES[row.reason] ?? row.reason} ${row.topic}${row.reason === "granted" ? ` from ${from(row)}` : ""}`],
  "chunk.fetched": (row) => [`${row.client} takes ${row.topic} from ${row.entry} to ${row.to_entry} (${row.reason})`],
  "progress.told": (row) => [`${row.client} is done with ${row.topic} up to ${from(row)}`],
  "leader.elected": (row) => [b(`leader ${row.count}`), ` of ${row.subscription} runs at ${row.cluster} (${row.reason})`],
  "leader.followed": (row) => [`${row.cluster} believes leader ${row.count} of ${row.subscription} at ${row.peer} for ${span(row.duration_us)} more`],
  "election.failed": (row) => [h(`no leader for ${row.subscription}`), ` at ${row.cluster}: ${row.detail}`],
  "leader.ended": (row) => [h(`leader ${row.count} of ${row.subscription} is no more`), `: ${row.reason}`],
  "leader.round": (row) => [`leader ${row.count} of ${row.subscription} deals out ${row.entry} streams to ${row.sequence_id} borrowers`],
  "leader.committed": (row) => [`leader ${row.count} of ${row.subscription} commits ${row.entry} positions`],
  "stream.found": (row) => [`${row.subscription} shares ${row.topic} from ${row.entry} on`],
  "progress.loaded": (row) => [`leader ${row.count} of ${row.subscription} begins ${row.topic} at ${from(row)}`],
  "progress.saved": (row) => [`leader ${row.count} of ${row.subscription} has ${row.topic} at ${until(row.to_entry)}, told by ${row.client}`],
  "progress.persisted": (row) => [`the store has ${row.topic} of ${row.subscription} at ${from(row)}`],
  "assignment.changed": (row) => [b(row.topic), ` ${ASSIGNED[row.reason] ?? row.reason} ${row.client}${row.reason === "free" ? "'s" : ""} (borrower ${row.count}), at ${from(row)}`],
  "borrower.joined": (row) => [`${row.subscription}'s leader knows `, b(row.client), ` (borrower ${row.count})`],
  "borrower.dropped": (row) => [`${row.subscription}'s leader knows ${row.client} (borrower ${row.count}) no more: ${row.reason}`],
};
