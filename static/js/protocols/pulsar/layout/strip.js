/**
 * Computes the position of each entry of one log along its lane; lanes are aligned at their newest entry.
 * A message is one unit wide, a marker of the subject's own snapshots 0.8, any other marker 0.4. When a unit is narrower than FINE_PX,
 * every entry is one unit wide, because single entries cannot be distinguished.
 */

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
