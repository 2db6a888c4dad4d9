/**
 * A time axis that opens where much happens at once: part of its length belongs to time, the rest to the events, each of which has
 * the same step. So four messages of one instant stand one below the other, and what is later is never drawn earlier.
 */

/** Steps take at most this part of the axis. */
const SHARE = 0.72;

/**
 * @param {object} given
 * @param {number} given.start_us
 * @param {number} given.span_us
 * @param {number} given.from_px
 * @param {number} given.to_px
 * @param {{at_us: number, order: number}[]} given.points events; those outside the window take no room
 * @param {number} given.step_px the most that one event takes; 0: time alone
 */
export function unfolded({ start_us, span_us, from_px, to_px, points, step_px }) {
  const inside = points.filter(({ at_us }) => at_us >= start_us && at_us <= start_us + span_us).sort((a, b) => a.at_us - b.at_us || a.order - b.order);
  const length = to_px - from_px;
  const step = inside.length ? Math.min(step_px, (SHARE * length) / inside.length) : 0;
  const linear_px = length - step * inside.length;
  const timeAt = (us) => from_px + ((us - start_us) / span_us) * linear_px;
  return {
    step,
    /** Where an event stands. */
    at: (point) => timeAt(point.at_us) + step * placeIn(inside, (one) => one.at_us < point.at_us || (one.at_us === point.at_us && one.order < point.order)),
    /** Where an instant stands, after all that happened in it. */
    after: (us) => timeAt(us) + step * placeIn(inside, (one) => one.at_us <= us),
    /** Where an instant stands, before all that happened in it. */
    before: (us) => timeAt(us) + step * placeIn(inside, (one) => one.at_us < us),
    /** The instant at a place. */
    usAt(px) {
      let [low, high] = [start_us, start_us + span_us];
      while (high - low > 1) {
        const middle = Math.floor((low + high) / 2);
        if (timeAt(middle) + step * placeIn(inside, (one) => one.at_us <= middle) <= px) low = middle;
        else high = middle;
      }
      return low;
    },
  };
}

/** How many come before, in a list where `before` is true first and false then. */
function placeIn(sorted, before) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (before(sorted[middle])) low = middle + 1;
    else high = middle;
  }
  return low;
}
