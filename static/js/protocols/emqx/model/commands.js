/** Forms of the commands about durable shared subscriptions: sessions, leaders, groups, nodes, storage, messages of borrowers and leaders. */

import { lanesOf } from "../../../model/state.js";

const required = true;
const session = { name: "session", kind: "session", required };
const group = { name: "group", kind: "text", required };
const node = { name: "node", kind: "node", required };
const publisher = { name: "publisher", kind: "publisher", required };
const topic = { name: "topic", kind: "subscription-filter", required };
const SAID = [
  "leader-wanted", "ping", "update-progress", "revoke-finished", "disconnect",
  "leader-connect-response", "ping-response", "grant", "revoke", "revoked", "invalidate",
];
const next = [
  { name: "type", kind: "choice", required, choices: SAID },
  { name: "session", kind: "session" }, { name: "group", kind: "text" }, { name: "stream", kind: "text" }, { name: "skip", kind: "integer" },
];

const LIVE_SETTINGS = [
  "session_find_leader_timeout", "session_ping_leader_interval", "session_ping_leader_timeout", "session_unsubscribe_timeout",
  "leader_renew_streams_interval", "leader_periodical_actions_interval", "leader_borrower_timeout",
];

/** @type {Object<string, import("../../../model/commands.js").Command>} */
export const GROUP_COMMANDS = {
  "session.connect": { says: "connect a client", arguments: [session, { name: "node", kind: "node" }, { name: "clean", kind: "boolean" }] },
  "session.disconnect": { says: "disconnect a client", arguments: [session] },
  "session.kill": { says: "kill a session's process", arguments: [session] },
  "session.subscribe": { says: "subscribe a client", arguments: [session, topic] },
  "session.unsubscribe": { says: "unsubscribe a client", arguments: [session, topic] },
  "session.pause-acks": { says: "pause a client's acks", arguments: [session] },
  "session.resume-acks": { says: "resume a client's acks", arguments: [session] },
  "leader.crash": { says: "crash a group's leader", arguments: [group] },
  "leader.stop": { says: "stop a group's leader gracefully", arguments: [group] },
  "group.declare": { says: "declare a group", arguments: [group, { name: "startTime", kind: "duration" }] },
  "group.destroy": { says: "destroy a group", arguments: [group] },
  "node.crash": { says: "crash a node", arguments: [node] },
  "node.stop": { says: "stop a node gracefully", arguments: [node, { name: "evacuate", kind: "boolean" }] },
  "node.restart": { says: "restart a node", arguments: [node] },
  "storage.close-generation": { says: "start a new storage generation", arguments: [] },
  "storage.add-shards": { says: "add shards to storage", arguments: [{ name: "count", kind: "integer", required, begin: 1 }] },
  "store.fail": { says: "make the leaders' store fail", arguments: [{ name: "for", kind: "duration", required, begin: "5s" }, { name: "node", kind: "node" }] },
  "config.update": { says: "change a timer of leaders and borrowers", arguments: [{ name: "setting", kind: "choice", required, choices: LIVE_SETTINGS }, { name: "value", kind: "duration", required, begin: "2s" }] },
  "protocol.lose": { says: "lose the next message of a kind", arguments: next },
  "protocol.delay": { says: "delay the next message of a kind", arguments: [...next, { name: "by", kind: "duration", required, begin: "1s" }] },
  "protocol.duplicate": { says: "duplicate the next message of a kind", arguments: [...next, { name: "by", kind: "duration", begin: "0s" }] },
  "publisher.publish": { says: "publish messages at once", arguments: [publisher, { name: "count", kind: "integer", begin: 1 }] },
  "publisher.pause": { says: "pause a publisher", arguments: [publisher] },
  "publisher.resume": { says: "resume a publisher", arguments: [publisher] },
};

/** @type {Object<string, (state: import("../../../model/state.js").LabState) => string[] | null>} what may be chosen, by kind of argument */
export const CHOICES = {
  node: (state) => state.welcome?.names?.nodes ?? lanesOf(state),
  session: (state) => state.welcome?.names?.sessions ?? null,
  publisher: (state) => state.welcome?.names?.publishers ?? null,
  "subscription-filter": (state) => [...new Set(Object.values(state.view?.groups ?? {}).map(({ text }) => text))],
};
