/**
 * Words and figures of the panel “Topics and policies”: replicators that are not running, differences between clusters.
 * They are computed from the server's answer and do not depend on the page.
 *
 * @typedef {object} Start a replicator of one topic: from, to, topic, state, connected, replication_backlog, delay_s, retries, last_error, next_try_us,
 * not_running (why no broker runs it: its region is down, its topic is not loaded; null while a broker runs it), parts
 */

import { counted, span } from "../../../model/format.js";

/** @returns {"runs" | "stopped" | "refused" | "starting" | "down"} state of a replicator, for its mark and its text */
export function replicatorState(one) {
  if (one.not_running) return "down";
  if (one.connected) return one.last_error ? "stopped" : "runs";
  return one.last_error ? "refused" : "starting";
}

const STATE_WORDS = { runs: "running", stopped: "connected, but stopped", refused: "start refused", starting: "starting" };

/** @returns {string} the state as text; for a replicator that no broker runs, the reason */
export const replicatorStateWords = (one) => (one.not_running ? `not running: ${one.not_running}` : STATE_WORDS[replicatorState(one)]);

/** @returns {Array<string | object>} the panel's headline, as parts */
export function headline(replicators) {
  if (replicators.length === 0) return ["No topic is replicated to another cluster."];
  const still = replicators.filter((one) => replicatorState(one) !== "runs");
  if (still.length === 0) return [replicators.length === 1 ? "The only replicator is running: its start check passed." : `All ${replicators.length} replicators are running: their start checks passed.`];
  const waiting = still.reduce((sum, one) => sum + one.replication_backlog, 0);
  const calm = still.every((one) => one.delay_s === 0);
  return [
    { harm: `${still.length === replicators.length ? (still.length === 1 ? "The only replicator" : `All ${still.length} replicators`) : `${still.length} of ${replicators.length} replicators`}` },
    `${still.length === 1 ? " is" : " are"} not replicating; `,
    ...(waiting === 0 ? ["backlog 0."] : ["backlog ", { strong: counted(waiting, "message") }, `${calm ? ", replicationDelayInSeconds 0." : "."}`]),
  ];
}

/**
 * The page's headline in a lab of this family while a replicator is not running; null otherwise.
 * @param {import("../../../model/state.js").LabState & import("./folds.js").PulsarState} state
 */
export function creationSentence(state) {
  if (state.welcome?.family !== "topic-creation") return null;
  const still = [];
  for (const [cluster, { topics }] of Object.entries(state.view.clusters)) {
    for (const [topic, { replicators }] of Object.entries(topics)) {
      for (const [peer, one] of Object.entries(replicators)) if (one.last_error) still.push({ cluster, peer, topic: topic.replace(/-partition-\d+$/, ""), ...one });
    }
  }
  if (still.length === 0) return null;
  const worst = still.reduce((one, other) => (other.backlog > one.backlog ? other : one));
  const waits = still.filter((one) => [one.cluster, one.peer, one.topic].join() === [worst.cluster, worst.peer, worst.topic].join()).reduce((sum, { backlog }) => sum + backlog, 0);
  return [{ strong: worst.cluster }, ` does not replicate ${worst.topic} to ${worst.peer}: `, ...(waits ? ["backlog ", { harm: counted(waits, "message") }, "."] : ["backlog 0."])];
}

/** @returns {string} when it retries, "" when no retry is scheduled */
export function nextTry(one, now_us) {
  if (one.next_try_us === null || one.next_try_us === undefined) return "";
  return one.next_try_us > now_us ? `retries in ${span(one.next_try_us - now_us)}` : "retries now";
}

/** @returns {string} "3 of 4 partitions" that are not running; "" for a plain topic, or when all or none are running */
export function partsOf(one) {
  const still = one.parts.filter((part) => replicatorState(part) !== "runs").length;
  return one.parts.length > 1 && still > 0 && still < one.parts.length ? `${still} of ${one.parts.length} partitions` : "";
}

/**
 * Policies of one namespace in every cluster, side by side.
 * @returns {{name: string, policies: {policy: string, values: (string | null)[], differs: boolean}[]}[]} null: the namespace does not exist there
 */
export function sideBySide(clusters) {
  const names = Object.keys(clusters);
  const namespaces = [...new Set(names.flatMap((cluster) => Object.keys(clusters[cluster].namespaces)))].sort();
  return namespaces.map((name) => {
    const policies = [...new Set(names.flatMap((cluster) => Object.keys(clusters[cluster].namespaces[name] ?? {})))];
    return {
      name,
      policies: policies.map((policy) => {
        const values = names.map((cluster) => (clusters[cluster].namespaces[name] ? (clusters[cluster].namespaces[name][policy] ?? "–") : null));
        return { policy, values, differs: new Set(values).size > 1 };
      }),
    };
  });
}

/** @returns {string} a topic's partitions in one cluster */
export function shapeWords({ partitions, logs_only }) {
  const stray = logs_only?.length ? `, and ${counted(logs_only.length, "topic")} named like partitions` : "";
  if (partitions === null) return `not here${stray}`;
  return `${partitions === 0 ? "not partitioned" : counted(partitions, "partition")}${stray}`;
}

/** The topics of all clusters: a row per name, with its partitions in every cluster. */
export function topicsOf(clusters) {
  const names = Object.keys(clusters);
  const topics = [...new Set(names.flatMap((cluster) => Object.keys(clusters[cluster].topics)))].sort();
  return topics.map((topic) => {
    const here = names.map((cluster) => clusters[cluster].topics[topic]);
    const shapes = here.filter((one) => one.partitions !== null).map((one) => one.partitions);
    return { topic, namespace: here[0].namespace, here, differs: new Set(shapes).size > 1 };
  });
}

/**
 * The refused starts as a line: one point for each, from 0.
 * @returns {{x: number[], y: number[]}} seconds and number so far, up to now
 */
export function climbing(refused, now_us) {
  const x = [0, ...refused.at_us.map((us) => us / 1e6), now_us / 1e6];
  const y = [0, ...refused.at_us.map((_us, place) => place + 1), refused.at_us.length];
  return { x, y };
}
