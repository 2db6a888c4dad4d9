/** The headline of a Pulsar lab: duplicates, messages not replicated and lost, by a failover now or by the last one. */

import { counted, span, whole } from "../../../model/format.js";
import { isUp, recordedIn } from "../../../model/state.js";
import { creationReason, creationSentence } from "./creation.js";
import { shadowSentence } from "./shadows.js";
import { topicView } from "./topics.js";

/** The headline of a lab with audiences: how long the slowest subscription of each topic waits for a message. */

/**
 * @param {any} state
 * @returns {import("../../../render/sentence.js").Part[] | null} null for a lab without audiences
 */
export function broadcastSentence(state) {
  const audiences = Object.entries(state.view?.audiences ?? {}).map(([key, one]) => ({ name: key.split("/")[0], ...one }));
  if (audiences.length === 0) return null;
  const served = audiences.filter(({ slowest_us }) => slowest_us !== null).sort((one, other) => other.slowest_us - one.slowest_us);
  if (served.length === 0) return connecting(audiences);
  const [worst, ...others] = served;
  /** @type {import("../../../render/sentence.js").Part[]} */
  const parts = ["The slowest of ", { strong: `${counted(worst.subscriptions, "subscription")} of ${worst.topic}` }, " received its last message after ", { strong: span(worst.slowest_us) }, ". "];
  if (others.length) parts.push({ soft: `${others.slice(0, 2).map(({ topic, subscriptions, slowest_us }) => `${span(slowest_us)} on ${topic} (${counted(subscriptions, "subscription")})`).join(", ")}.` });
  return parts;
}

function connecting(audiences) {
  const worst = audiences.reduce((one, other) => (other.subscriptions - other.connected > one.subscriptions - one.connected ? other : one));
  return [{ strong: `${whole(worst.connected)} of ${counted(worst.subscriptions, "subscription")}` }, ` of ${worst.topic} are connected. `, { soft: "No message delivered yet." }];
}

/** @typedef {import("../../../render/sentence.js").Part} Part */

/** @returns {Part[]} */
export function pulsarSentence(state, watched) {
  const over = latestFailover(state, watched.subscription);
  if (over) return afterwards(state, over);
  return broadcastSentence(state) ?? creationSentence(state) ?? leadOfShadows(state, watched) ?? forecastSentence(state, watched) ?? shadowSentence(state, watched) ?? quiet(state, watched);
}

/** In scenarios about shadow topics their own question comes first, whatever a failover would cost. */
const leadOfShadows = (state, watched) => (state.welcome?.family === "shadow-topics" ? shadowSentence(state, watched) : null);

/** @returns {object | null} the newest failover of the subscription */
export function latestFailover(state, subscription) {
  const all = (state.view?.failovers ?? []).filter((one) => one.subscription === subscription);
  return all.length ? all[all.length - 1] : null;
}

/** @returns {object | null} figures of the forecast for the watched target */
function forecastFigures(state, watched, peer = watched.target) {
  return state.view?.forecast?.[watched.subscription]?.to?.[peer] ?? null;
}

function forecastSentence(state, watched) {
  const figures = watched.target && forecastFigures(state, watched);
  if (!figures) return null;
  const from = state.view.forecast[watched.subscription].from;
  return [
    `If ${from} failed now, `,
    { pick: watched.target, choices: watched.peers },
    " would deliver ",
    ...costOf(figures),
  ];
}

/** What a failover would cost, from the engine's forecast: headline and failover dialog. @returns {Part[]} */
export const costOf = (figures) => [...harmOf(figures.duplicates), ".", ...restOf(figures.stranded_unprocessed ? { soft: notReplicated(figures.stranded_unprocessed) } : null, figures.lost ?? 0)];

function harmOf(count) {
  if (count === 0) return [{ strong: "no duplicates" }];
  return [{ harm: counted(count, "duplicate") }];
}

/**
 * What else a failover costs: unread messages that the target does not get, and lost ones. Zeros are left out, as is a message that is only in
 * the source and was processed there.
 * @param {Part | null} missing unread messages that are not in the target
 * @returns {Part[]}
 */
function restOf(missing, lost) {
  /** @type {Part} */
  const lost_words = { harm: `${whole(lost)} lost` };
  if (missing && lost > 0) return [" ", missing, ", ", lost_words, "."];
  if (missing) return [" ", missing, "."];
  return lost > 0 ? [" ", lost_words, "."] : [];
}

const notReplicated = (count) => `${counted(count, "message")} not replicated (unread)`;

function afterwards(state, over) {
  const down = state.view.clusters[over.from]?.state !== "up";
  const missing = over.stranded_missing || null; // while the source is up, they are on the way
  const opening = down ? `${over.from} failed. ` : `${over.subscription} moved from ${over.from}. `;
  return [
    opening,
    { strong: over.to },
    " has delivered ",
    ...deliveredSoFar(state, over),
    ".",
    ...restOf(missing && (down ? { harm: notReplicated(missing) } : { soft: `${counted(missing, "unread message")} on the way` }), over.lost ?? 0),
  ];
}

/** The duplicates of a failover. While the target may deliver more of them, the number is a lower bound at the scenario's end, and before it only a number so far. */
function deliveredSoFar(state, over) {
  const duplicates = over.duplicates ?? 0;
  if (!over.pending_repeats) return harmOf(duplicates);
  if (state.at_us !== state.welcome?.until_us) return [...harmOf(duplicates), " so far"];
  const count = duplicates ? { harm: `at least ${counted(duplicates, "duplicate")}` } : { strong: "no duplicates" };
  return [count, ", ", { harm: "still delivering at the end" }];
}

function quiet(state, watched) {
  const known = watched.clusters.filter((cluster) => state.view.clusters[cluster]?.topics?.[watched.topic]?.subscriptions?.[watched.subscription]);
  if (!watched.subscription || known.length === 0) return ["No subscription yet. ", { soft: "Press play." }];
  const cluster = state.view.clusters[watched.subject];
  if (cluster?.state !== "up") return [{ strong: watched.subject }, ` is ${cluster?.state ?? "gone"}. `, { soft: `No consumer of ${watched.subscription} is connected.` }];
  return [{ strong: watched.subscription }, ` is consumed in ${watched.subject}. `, { soft: recordedIn(state) ? "A recorded run has no forecast." : nowhere(state, watched) }];
}

/** Explains why no region can take over. */
export function nowhere(state, { topic, subject, lanes }) {
  const others = lanes.filter((cluster) => cluster !== subject && topicView(state, cluster, topic));
  if (others.length === 0) return "There is no other region to fail over to.";
  return `No region can take over: ${others.map((cluster) => whyNot(cluster, state.view.clusters[cluster].state)).join(", ")}.`;
}

/** A region that is up and no possible target is one that the topic was migrated away from (PIP-188): it only redirects clients. */
const whyNot = (cluster, state) => (state === "up" ? `the topic was migrated away from ${cluster}` : `${cluster} is ${state}`);

/** The line under the headline: why a replicator does not run; after a failover the forecast for the next one. */
export function secondSentence(state, watched) {
  if (recordedIn(state)) return null;
  if (!latestFailover(state, watched.subscription)) return creationReason(state);
  return forecastSentence(state, watched) ?? (isUp(state, watched.subject) ? [{ soft: nowhere(state, watched) }] : null);
}
