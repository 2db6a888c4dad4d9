/**
 * Sorts the variants of a what-if for reading.
 * The real run is first, then changes by how much they helped, then those without a difference, then those that assume an earlier plan.
 */

const NO_DIFFERENCE = "no difference";

/**
 * The effect of a change on one case (a failover, a group).
 * @typedef {object} Line
 * @property {string} key
 * @property {string} name
 * @property {string} label of the case
 * @property {number} at_us instant to show for the case
 * @property {Record<string, number | null> | null} figures null when the case did not happen
 * @property {string} difference in words
 * @property {number[] | null} harm compared number by number, smaller is better; null when unknown
 * @property {boolean} helps
 * @property {string | null} [assumes] an assumption that was not true in the run; such a change is no advice and is listed last
 */

/**
 * @param {{variants: {key: string, name: string, cases: object[]}[]}} answer of what-if.json
 * @param {number} place index of the case
 * @returns {{real: Line | null, changed: Line[], same: Line[], assumed: Line[]}} changed: most helpful first; assumed: changes that could not have been made in time, in the same order
 */
export function inOrder({ variants }, place) {
  const [real = null, ...others] = variants.map(({ key, name, cases }) => ({ key, name, ...cases[place] }));
  const advice = others.filter((line) => !line.assumes);
  const changed = advice.filter((line) => line.difference !== NO_DIFFERENCE).sort(byHarm);
  return { real, changed, same: advice.filter((line) => line.difference === NO_DIFFERENCE), assumed: others.filter((line) => line.assumes).sort(byHarm) };
}

function byHarm({ harm: one }, { harm: other }) {
  if (!one || !other) return Number(!one) - Number(!other);
  for (let at = 0; at < Math.max(one.length, other.length); at += 1) {
    const apart = (one[at] ?? -1) - (other[at] ?? -1);
    if (apart) return apart;
  }
  return 0;
}

/** @returns {Line | null} the change that helped most, if any did */
export function mostHelpful({ changed }) {
  return changed[0]?.helps ? changed[0] : null;
}
