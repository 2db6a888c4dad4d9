/** Addresses of a lab: what its query shows, the place of a story in its fragment, and the origin to share. */

const CHOICES = ["topic", "subscription", "target", "group"];
/** Most characters of a choice: that of a name in a scenario. */
const LONGEST_CHOICE = 200;

/** @param {string} search the query of an address @returns {{topic?: string, subscription?: string, target?: string, group?: string}} */
export function selectionOf(search) {
  const given = new URLSearchParams(search);
  const chosen = CHOICES.map((name) => [name, given.get(name)]).filter(([, value]) => value && value.length <= LONGEST_CHOICE);
  return Object.fromEntries(chosen);
}

/** @param {{panel: string, selection: object}} view @returns {string} "?panel=…&topic=…" */
export function searchOf({ panel, selection }) {
  const query = new URLSearchParams({ panel });
  for (const name of CHOICES) if (selection[name]) query.set(name, selection[name]);
  return `?${query}`;
}

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

/** The origin that links to share begin with, and whether other computers reach it. Pure. */

/** What is said where the address of a link works on this computer only, and how to change that. */
export const LOCAL_ONLY = "This address works on this computer only. For phones and other computers on this network, stop the server and start it as script/server --lan: it prints the address to open.";

/**
 * Whether a host name leads to the computer itself, whichever computer that is.
 * @param {string} hostname of an address, as `location.hostname` has it
 */
export const isThisComputer = (hostname) => /^(localhost|.*\.localhost|127(\.\d{1,3}){3}|0\.0\.0\.0|\[::1?\])$/i.test(hostname);

/** @param {string} address `scheme://host:port` */
const hostnameOf = (address) => /^\w+:\/\/(\[[^\]]*\]|[^:/]*)/.exec(address)?.[1] ?? "";

/**
 * @param {{origin: string, hostname: string}} location of the page
 * @param {string} shared_address the server's SHARED_ADDRESS, "" without one
 * @returns {{origin: string, local_only: boolean}}
 */
export function sharedOrigin({ origin, hostname }, shared_address) {
  if (!isThisComputer(hostname)) return { origin, local_only: false };
  return shared_address ? { origin: shared_address, local_only: isThisComputer(hostnameOf(shared_address)) } : { origin, local_only: true };
}
