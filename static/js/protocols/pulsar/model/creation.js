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

/** @param {object[]} replicators @returns {string} all of them, as the subject of a sentence */
const everyReplicator = ({ length }) => (length === 1 ? "The only replicator" : length === 2 ? "Both replicators" : `All ${length} replicators`);

const STATE_WORDS = { runs: "running", stopped: "connected, but stopped", refused: "start refused", starting: "starting" };

/** @returns {string} the state as text; for a replicator that no broker runs, the reason */
export const replicatorStateWords = (one) => (one.not_running ? `not running: ${one.not_running}` : STATE_WORDS[replicatorState(one)]);

/** @returns {Array<string | object>} the panel's headline, as parts */
export function headline(replicators) {
  if (replicators.length === 0) return ["No topic is replicated to another cluster."];
  const still = replicators.filter((one) => replicatorState(one) !== "runs");
  if (still.length === 0) return [replicators.length === 1 ? "The only replicator is running: its start check passed." : `${everyReplicator(replicators)} are running: their start checks passed.`];
  const waiting = still.reduce((sum, one) => sum + one.replication_backlog, 0);
  const calm = still.every((one) => one.delay_s === 0);
  return [
    { harm: `${still.length === replicators.length ? everyReplicator(still) : `${still.length} of ${replicators.length} replicators`}` },
    `${still.length === 1 ? " is" : " are"} not replicating; `,
    ...(waiting === 0 ? ["backlog 0."] : ["backlog ", { strong: counted(waiting, "message") }, `${calm ? ", replicationDelayInSeconds 0." : "."}`]),
  ];
}

/** The replicators of a lab by (from, to, topic), partitions of a topic together: {from, to, topic, backlog, error, started}. */
function replicatorsOf(view) {
  const found = new Map();
  for (const [from, { topics }] of Object.entries(view.clusters)) {
    for (const [log, { replicators }] of Object.entries(topics)) {
      for (const [to, one] of Object.entries(replicators ?? {})) {
        const topic = log.replace(/-partition-\d+$/, "");
        const key = [from, to, topic].join("|");
        const known = found.get(key) ?? { from, to, topic, backlog: 0, error: null, started: true };
        found.set(key, { ...known, backlog: known.backlog + one.backlog, error: known.error ?? one.last_error ?? null, started: known.started && one.state === "started" });
      }
    }
  }
  return [...found.values()];
}

/** Of the replicators that do not run, the one with the largest backlog. */
const worstOf = (all) => all.filter(({ error }) => error).reduce((one, other) => (one && one.backlog >= other.backlog ? one : other), null);

/**
 * The page's headline in a lab of this family: which replicators run, and the worst that does not. Null in other labs.
 * @param {import("../../../model/state.js").LabState & import("./folds.js").PulsarState} state
 */
export function creationSentence(state) {
  if (state.welcome?.family !== "topic-creation") return null;
  const all = replicatorsOf(state.view);
  if (all.length === 0) return ["No topic is replicated to another region yet."];
  const worst = worstOf(all);
  const running = all.filter(({ error, started }) => !error && started);
  if (!worst) return runningWords(all, running);
  const others = all.length > 1 ? [{ soft: ` ${running.length} of ${counted(all.length, "replicator")} ${running.length === 1 ? "runs" : "run"}.` }] : [];
  return [{ strong: worst.from }, ` does not replicate ${worst.topic} to ${worst.to}: `, ...(worst.backlog ? ["backlog ", { harm: counted(worst.backlog, "message") }, "."] : ["backlog 0."]), ...others];
}

function runningWords(all, running) {
  const listed = running.slice(0, 3).map(({ from, to, topic }) => `${from} → ${to} for ${topic}`).join(", ");
  const more = running.length > 3 ? ` and ${running.length - 3} more` : "";
  if (running.length === 0) return [{ strong: everyReplicator(all) }, all.length === 1 ? " is starting." : " are starting."];
  if (running.length < all.length) return [{ strong: `${running.length} of ${all.length} replicators` }, running.length === 1 ? " runs: " : " run: ", `${listed}${more}. The others are starting.`];
  return [{ strong: everyReplicator(all) }, `${all.length === 1 ? " runs" : " run"}: ${listed}${more}.`];
}

/** The line under it: why that replicator does not run, as the broker says it. @returns {import("../../../render/sentence.js").Part[] | null} */
export function creationReason(state) {
  const worst = state.welcome?.family === "topic-creation" ? worstOf(replicatorsOf(state.view)) : null;
  return worst && [`Why: ${worst.error.replace(/\.?$/, ".")}`];
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
