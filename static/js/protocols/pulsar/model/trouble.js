/** The problem of a cluster's lane, as text beside its name. It is derived from the state, never from the drawing. */

import { unbroken } from "../../../model/format.js";

/** A replicator's error other than a broken connection: the peer refuses the start. */
const REFUSED = /^(?!disconnected:|no connection)./;

/**
 * @param {{name: string, state: string, topic?: object, cursor?: object}} lane the cluster and its state, the watched topic there, the subscription's cursor
 * @param {string[]} names of its consumers of the watched subscription
 * @param {{turned: boolean, clusters: Record<string, object>, links: Record<string, object>, topic: string}} around whether lanes are columns, clusters and links of the view, the watched topic
 * @returns {string} "" without a problem
 */
export function troubleWords(lane, names, { turned, clusters, links, topic }) {
  if (lane.state === "down") return "down";
  if (lane.state === "lost") return "lost permanently";
  const blocked = names.filter((name) => lane.cursor.consumers[name].state === "blocked");
  if (blocked.length) return `${blocked.join(", ")} blocked`;
  if (lane.topic?.loaded === false) return "topic not loaded";
  if (turned) return ""; // the crossed link shows it, and a column has no room
  // A peer that is down, or that has not loaded the topic, is reported at its own lane.
  const answers = (peer) => clusters[peer]?.state === "up" && clusters[peer].topics?.[topic]?.loaded !== false;
  const stopped = Object.entries(lane.topic?.replicators ?? {}).filter(([peer, replicator]) => replicator.state === "disconnected" && answers(peer));
  const cut = (peer) => [`${lane.name} -> ${peer}`, `${peer} -> ${lane.name}`].some((link) => links[link]?.state === "cut");
  const words = { "cannot reach": [], "does not replicate to": [], "is reconnecting to": [] };
  for (const [peer, { last_error }] of stopped) words[cut(peer) ? "cannot reach" : REFUSED.test(last_error ?? "") ? "does not replicate to" : "is reconnecting to"].push(unbroken(peer));
  const [worst] = Object.entries(words).filter(([, peers]) => peers.length > 0);
  return worst ? `${worst[0]} ${worst[1].join(", ")}` : "";
}
