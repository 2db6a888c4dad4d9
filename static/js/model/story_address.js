/** Encodes a step of a story in the fragment of the page's address: failover, kind, message and step. */

/**
 * @typedef {object} StoryPlace
 * @property {number} failover number of the failover on the branch, from 0
 * @property {string} kind duplicates, redeliveries, stranded or lost
 * @property {string} producer
 * @property {number} number the message's sequence id
 * @property {number} step from 1
 */

const WHOLE = /^\d{1,15}$/;

/** @param {StoryPlace} place @returns {string} "#failover=0&kind=duplicates&producer=shop&number=53&step=4" */
export const fragmentOf = ({ failover, kind, producer, number, step }) => `#${new URLSearchParams({ failover: String(failover), kind, producer, number: String(number), step: String(step) })}`;

/** @returns {StoryPlace | null} null when the fragment names no story */
export function placeOf(fragment) {
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  const [failover, number, step] = ["failover", "number", "step"].map((name) => given.get(name) ?? (name === "step" ? given.get("beat") ?? "1" : ""));
  const [kind, producer] = ["kind", "producer"].map((name) => given.get(name) ?? "");
  if (![failover, number, step].every((text) => WHOLE.test(text)) || !kind || !producer) return null;
  return { failover: Number(failover), kind, producer, number: Number(number), step: Math.max(1, Number(step)) };
}

/** @returns {string} path of the request for a message's story @param {{place?: number, producer?: string, number?: number}} which */
export function storyPath(base, failover, kind, which) {
  const query = which.place === undefined ? new URLSearchParams({ producer: which.producer, number: String(which.number) }) : new URLSearchParams({ place: String(which.place) });
  return `${base}failovers/${failover}/${encodeURIComponent(kind)}/story.json?${query}`;
}

/** How long a step is shown while a story plays, ms: the time it takes to read, at least two seconds. */
export const readingTime = (words) => Math.max(2000, 900 + 62 * words.length);
