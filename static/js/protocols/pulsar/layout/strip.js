/**
 * Computes the position of each entry of one log along its lane; lanes are aligned at their newest entry.
 * A message is one unit wide, a marker of the subject's own snapshots 0.8, any other marker 0.4. When a unit is narrower than FINE_PX,
 * every entry is one unit wide, because single entries cannot be distinguished.
 */

import { FLAG_LEVELS, FLAG_PX, FLAG_STEP_PX } from "../../../layout/plane.js";

/** Width of a message from which entries are drawn one by one, in px. */
const FINE_PX = 3;
/** Most entries that get individual positions. */
const LAID_OUT = 12_000;

/**
 * @typedef {object} Strip
 * @property {number} from first index laid out
 * @property {number} to one past the last
 * @property {Float64Array} edges left edge of each entry, then the right edge of the last
 * @property {number} unit_px
 * @property {boolean} fine whether entries are drawn one by one
 * @property {number} a0 where the strip's area begins, px
 * @property {number} a1 where it ends, px
 */

/**
 * @param {object} given
 * @param {number} given.length entries in the log
 * @param {number} given.first_kept entries before it were trimmed
 * @param {number} given.back entries after the window (0 follows the head)
 * @param {number} given.unit_px
 * @param {number} given.a0
 * @param {number} given.a1
 * @param {(index: number) => number} given.units width of an entry in units
 * @returns {Strip}
 */
export function layStrip({ length, first_kept, back, unit_px, a0, a1, units }) {
  const to = Math.max(first_kept, length - back);
  const fine = unit_px >= FINE_PX;
  const widths = [];
  let along = a1;
  let from = to;
  if (fine) {
    while (from > first_kept && along > a0 && widths.length < LAID_OUT) {
      from -= 1;
      const width = units(from) * unit_px;
      widths.push(width);
      along -= width;
    }
  } else {
    from = Math.max(first_kept, to - Math.ceil((a1 - a0) / unit_px));
  }
  const edges = fine ? edgesFrom(widths, a1) : new Float64Array(0);
  return { from, to, edges, unit_px, fine, a1, a0 };
}

function edgesFrom(widths, a1) {
  const edges = new Float64Array(widths.length + 1);
  edges[widths.length] = a1;
  for (let at = 0; at < widths.length; at++) edges[widths.length - 1 - at] = edges[widths.length - at] - widths[at];
  return edges;
}

/** @returns {number} near edge of an entry; positions outside the window are limited to just outside it */
export function nearEdge(strip, index) {
  if (index >= strip.to) return strip.a1;
  if (index < strip.from) return strip.a0 - 40;
  return strip.fine ? strip.edges[index - strip.from] : strip.a1 - (strip.to - index) * strip.unit_px;
}

/** @returns {number} far edge of an entry: the end of a bracket or rail that includes it */
export const farEdge = (strip, index) => nearEdge(strip, index + 1);

/** @returns {number | null} index of the entry at a position along the lane */
export function entryAt(strip, along) {
  if (along > strip.a1 || along < strip.a0 || strip.to === strip.from) return null;
  if (!strip.fine) return Math.max(strip.from, strip.to - Math.ceil((strip.a1 - along) / strip.unit_px));
  let low = 0;
  let high = strip.edges.length - 2;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (strip.edges[middle] <= along) low = middle;
    else high = middle - 1;
  }
  return along < strip.edges[0] ? null : strip.from + low;
}

/** Finds runs of entries that have a bit of their state in common. Numbers only. */

/** Most entries without the bit (usually markers) that do not end a run. */
const BRIDGED = 3;

/** Calls `run` for each run of entries with the bit; a run includes the markers in it. */
export function forRuns(bits, bit, run) {
  let first = -1;
  let last = -1;
  for (let at = 0; at < bits.length; at++) {
    if (bits[at] & bit) {
      if (first < 0) first = at;
      last = at;
    } else if (first >= 0 && at - last > BRIDGED) {
      run(first, last);
      first = -1;
    }
  }
  if (first >= 0) run(first, last);
}

/**
 * Places the pins and flags of one lane so that none hides another.
 * A flag too close to an earlier one is drawn one level further out. Numbers only, px.
 */

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
