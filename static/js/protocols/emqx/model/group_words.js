/** Describes the thing under the pointer in a group lab, in one line. */

import { tapesOf } from "./groups.js";

const tapeOf = (state, watched, name) => tapesOf(state, watched.group).find((one) => one.name === name);

const WORDS = {
  node: (state, watched, { node }) => `node ${node}: click to crash it or cut it off`,
  leader: () => "the leader: click to crash it or inspect it",
  client: (state, watched, { client }) => `${client}: click to kill it, pause its acknowledgements or inspect it`,
  flight: (state, watched, { flight }) => `${flight.what} of ${flight.client} in flight to ${flight.to}: click to drop, delay or duplicate it`,
  stream: (state, watched, { stream }) => `${stream}: click to inspect it`,
  fold: (state, watched, { key, counts }) => `${key}: ${counts.join(", ")}; click to expand`,
  chunk: (state, watched, { stream, offset }) => messageWords(tapeOf(state, watched, stream), offset),
  message: (state, watched, { stream, offset }) => messageWords(tapeOf(state, watched, stream), offset),
};

/** @returns {string} */
export const groupThingWords = (state, watched, thing) => WORDS[thing.kind](state, watched, thing);

/** @returns {string} state of one message for each reader, the leader and the store */
export function messageWords(tape, offset) {
  const facts = tape.readers.map((one) => `${offset < one.acknowledged ? "acknowledged by" : offset < one.delivered ? "delivered, not acked by" : "not delivered to"} ${one.client}`);
  const reported = tape.leader_entry ? `${offset < tape.leader_entry.position ? "" : "not "}reported to the leader` : "its stream is not in the leader's table";
  const again = tape.duplicates.some(([first, after]) => first <= offset && offset < after) ? ["duplicate: delivered again after an acknowledgement"] : [];
  return `Message ${offset}: ${[...again, ...facts, reported, `${offset < tape.committed ? "" : "not "}committed`].join(", ")}.`;
}
