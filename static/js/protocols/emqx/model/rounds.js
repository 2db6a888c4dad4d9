/** A group's rounds and figures as texts and numbers: timers of its leader, whether it is stable, its costs so far. */

import { counted, span, whole } from "../../../model/format.js";
import { leaderOf } from "./groups.js";

/**
 * @param {import("../../../model/state.js").LabState} state
 * @param {string} group
 * @returns {{name: string, whole_us: number, due_us: number[]}[]} timers of the leader, outermost first; empty without a leader
 */
export function timersOf(state, group) {
  const leading = leaderOf(state.view.groups[group]);
  if (!leading) return [];
  const { rounds, periodical_us, heartbeat_us } = leading.leader;
  const { spans_us } = state.view;
  return [
    { name: "next rebalance", whole_us: spans_us.leader_renew_streams_interval, due_us: rounds.due_us },
    { name: "next check of deadlines and resends", whole_us: spans_us.leader_periodical_actions_interval, due_us: [periodical_us] },
    { name: "next commit", whole_us: spans_us.leader_heartbeat_interval, due_us: [heartbeat_us] },
  ].map((timer) => ({ ...timer, due_us: timer.due_us.filter((us) => us !== null) }));
}

/** @returns {{stable: boolean, words: string}} whether the group is stable, and what is missing */
export function badgeOf({ stability, figures }) {
  const { leaders, unowned, on_their_way, starved = 0, unread, held, spread } = stability;
  const doubled = figures?.two_readers_now ?? 0;
  const stable = stability.stable && doubled === 0;
  if (stability.stable && !stable) return { stable, words: `stable for its leader, but ${counted(doubled, "stream has", "streams have")} two readers` };
  if (stable) return { stable, words: "stable" };
  if (leaders !== 1) return { stable, words: `not stable: ${leaders === 0 ? "no leader" : `${leaders} leaders`}` };
  const streams = (count, words) => (count > 0 ? [`${counted(count, "stream")} ${words}`] : []);
  const missing = [...streams(unowned, "unassigned"), ...streams(on_their_way, "being granted or revoked"), ...streams(starved, "starved: granted, but the owner acted on a late revoke"), ...streams(unread, "not read by the owner"), ...streams(held, "held by a client that acknowledges nothing"), ...(spread > 1 ? [`shares differ by ${spread}`] : [])];
  return { stable, words: `not stable: ${missing.join(", ")}` };
}

/** @returns {{name: string, value: string, note: string, harm: boolean}[]} */
export function figuresOf({ figures }) {
  if (!figures) return [];
  const { handover_us: gap } = figures;
  const some = figures.handovers > 0;
  return [
    { name: "streams without a reader", value: whole(figures.unowned_now), note: `${span(figures.unowned_us)} so far, the sum over all streams`, harm: figures.unowned_now > 0 },
    { name: "handover time", value: some ? `${gapWords(gap.p50)}, median of ${whole(figures.handovers)}` : "–", note: some ? `from one reader of a stream to the next; 95 % within ${span(gap.p95)}, longest ${span(gap.max)}` : "no handover so far", harm: false },
    { name: "duplicates so far", value: whole(figures.duplicates), note: `and ${counted(figures.redeliveries, "redelivery", "redeliveries")} of unacknowledged messages${figures.pending_repeats ? `; ${counted(figures.pending_repeats, "message")} still to be delivered again` : ""}`, harm: figures.duplicates > 0 },
    { name: "streams with two readers", value: whole(figures.two_readers_now), note: figures.two_readers ? `${counted(figures.two_readers, "time")} so far, ${span(figures.two_readers_us)} in all` : "none so far", harm: figures.two_readers_now > 0 },
  ];
}

/** A handover's time without a reader; there is none when the next client began before or when the last one ended. */
const gapWords = (gap_us) => (gap_us === 0 ? "no gap" : span(gap_us));

/** @returns {{at_us: number, seq: number, words: string}[]} rounds that changed something, newest first */
export function roundsOf(rows, group, most) {
  return rows
    .filter((row) => row.subscription === group)
    .slice(-most)
    .reverse()
    .map((row) => ({ at_us: row.at_us, seq: row.seq, words: `leader ${row.count} assigned ${counted(row.entry, "stream")} to ${counted(row.sequence_id, "borrower")}` }));
}
