/** The groups of the event list: the rows of one snapshot, with its result as their heading. */

import { counted, span } from "../../../model/format.js";
import { snapshotName } from "./snapshot_names.js";
import { foldSnapshots, noSnapshots } from "./snapshots.js";

/** @returns {string | null} */
export const groupOfRow = (row) => (row.snapshot === undefined ? null : `snapshot ${row.snapshot}`);

/** How a completed snapshot ended in the cache of a subscription. */
const KEPT = { cached: "ready", used: "used", evicted: "evicted unused" };

/**
 * @param {string} key as `groupOfRow` makes it
 * @param {any} state
 * @param {object[]} later rows after the instant shown, if the group consists of them
 */
export function wordsOfGroup(key, state, later) {
  const number = Number(key.split(" ")[1]);
  const name = snapshotName(state, number, later);
  const snapshot = later.length ? foldSnapshots(noSnapshots(), later).get(number) : state.snapshots.get(number);
  return [{ strong: name ? `${name.region} ${name.name}` : "Snapshot" }, snapshot ? ` ${resultOf(snapshot)}` : ""];
}

function resultOf({ state, round, ended_us, asked_us, kept, partial }) {
  const taken = asked_us === null || ended_us === null ? "" : ` ${span(ended_us - asked_us)}`;
  if (state === "pending") return `pending, round ${round}`;
  if (state === "timed-out") return taken ? `timed out after${taken}` : "timed out";
  if (state === "abandoned") return "abandoned";
  return `${partial ? "partial" : "completed"}${taken && ` in${taken}`}${usesOf(kept)}`;
}

/** ", used", or ", used by 2 of 3 subscriptions" where several have it in their cache. */
function usesOf(kept) {
  const states = Object.values(kept).map((one) => one.state);
  if (states.length === 0) return "";
  if (states.every((one) => one === states[0])) return `, ${KEPT[states[0]]}`;
  return `, used by ${states.filter((one) => one === "used").length} of ${counted(states.length, "subscription")}`;
}
