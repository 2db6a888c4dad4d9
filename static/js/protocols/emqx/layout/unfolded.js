/**
 * A time axis that is stretched where many events have the same instant: each event has the same step, the rest is to scale.
 * Four messages of one instant are thus below each other, and a later event is never drawn before an earlier one.
 */

/** Largest share of the axis for steps. */
const SHARE = 0.72;

/**
 * @param {object} given
 * @param {number} given.start_us
 * @param {number} given.span_us
 * @param {number} given.from_px
 * @param {number} given.to_px
 * @param {{at_us: number, order: number}[]} given.points events; those outside the window get no step
 * @param {number} given.step_px largest step of one event; 0: the whole axis is to scale
 */
export function unfolded({ start_us, span_us, from_px, to_px, points, step_px }) {
  const inside = points.filter(({ at_us }) => at_us >= start_us && at_us <= start_us + span_us).sort((a, b) => a.at_us - b.at_us || a.order - b.order);
  const length = to_px - from_px;
  const step = inside.length ? Math.min(step_px, (SHARE * length) / inside.length) : 0;
  const linear_px = length - step * inside.length;
  const timeAt = (us) => from_px + ((us - start_us) / span_us) * linear_px;
  return {
    step,
    /** Position of an event. */
    at: (point) => timeAt(point.at_us) + step * placeIn(inside, (one) => one.at_us < point.at_us || (one.at_us === point.at_us && one.order < point.order)),
    /** Position of an instant, after all its events. */
    after: (us) => timeAt(us) + step * placeIn(inside, (one) => one.at_us <= us),
    /** Position of an instant, before all its events. */
    before: (us) => timeAt(us) + step * placeIn(inside, (one) => one.at_us < us),
    /** The instant at a position. */
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

/** Number of leading items for which `before` is true, by binary search; it must be false for all others. */
function placeIn(sorted, before) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (before(sorted[middle])) low = middle + 1;
    else high = middle;
  }
  return low;
}
