/** The lines of the events of namespaces, topics and schemas; `row_words.js` includes them. */

import { reasonWords } from "../../../model/reason_words.js";

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
