/**
 * Places the pins and flags of one lane so that none hides another.
 * A flag too close to an earlier one is drawn one level further out. Numbers only, px.
 */

import { FLAG_LEVELS, FLAG_PX, FLAG_STEP_PX } from "../../../layout/plane.js";
import { farEdge, nearEdge } from "./strip.js";

/** Pins or flags closer than this would overlap, px at scale 1. */
const APART_PX = 11;

/**
 * @typedef {object} LanePins
 * @property {number | null} mark position of the mark-delete along the lane; null outside the window
 * @property {{along: number, level: number} | null} read the read position, in the subject's lane only
 * @property {{along: number, level: number, peer: string}[]} flags cursors of replicators with a backlog
 */

/**
 * @param {object} plane
 * @param {Pick<import("./scene.js").SceneLane, "strip" | "cursor" | "topic">} held
 * @param {boolean} subject whether this is the cluster with the consumers
 * @returns {LanePins}
 */
export function pinsOf(plane, { strip, cursor, topic }, subject) {
  const inside = (along) => along >= plane.a0 - 1 && along <= plane.a1 + 1;
  const apart = APART_PX * plane.scale;
  const mark = cursor && inside(farEdge(strip, cursor.mark_delete_index)) ? farEdge(strip, cursor.mark_delete_index) : null;
  const read_at = cursor ? nearEdge(strip, cursor.read_index) : null;
  const read = subject && read_at !== null && inside(read_at) && cursor.read_index > cursor.mark_delete_index + 1 ? { along: read_at, level: mark !== null && Math.abs(read_at - mark) < apart ? 1 : 0 } : null;
  const flags = [];
  for (const [peer, replicator] of Object.entries(topic?.replicators ?? {})) {
    if (replicator.mark_delete_index >= topic.length - 1) continue;
    const along = farEdge(strip, replicator.mark_delete_index);
    if (!inside(along)) continue;
    const taken = new Set(flags.filter((other) => Math.abs(other.along - along) < apart).map((other) => other.level));
    let level = 0;
    while (taken.has(level) && !(plane.turned && level + 1 === FLAG_LEVELS)) level += 1;
    flags.push({ along, level, peer });
  }
  return { mark, read, flags };
}

/** @returns {{x: number, y: number, width: number, height: number}[]} areas of the lane's flags, which labels must not cover */
export function flagBoxes(plane, lane, { flags }) {
  const reach = APART_PX * plane.scale;
  return flags.map(({ along, level }) => {
    const out = flagHeight(plane, level);
    return plane.turned ? { x: lane.base, y: along - 1, width: out, height: reach } : { x: along - 1, y: lane.base - out, width: reach, height: out };
  });
}

/** How far a flag of a level extends from the strip, px. */
export const flagHeight = (plane, level) => (plane.turned ? FLAG_PX + FLAG_STEP_PX * level : (14 + 11 * level) * plane.scale);
