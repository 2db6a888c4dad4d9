/** The headline of a lab with audiences: how long the slowest subscription of each topic waits for a message. */

import { counted, span, whole } from "../../../model/format.js";

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
