/** What would have helped, put in order for reading: the real run first, then what helped most, then what made no difference, then what assumes a plan that there was not. */

const NO_DIFFERENCE = "no difference";

/**
 * What a change did to one case (a failover, a group).
 * @typedef {object} Line
 * @property {string} key
 * @property {string} name
 * @property {string} label of the case
 * @property {number} at_us where to look at it
 * @property {Record<string, number | null> | null} figures null when it did not come about
 * @property {string} difference in words
 * @property {number[] | null} harm small is good, the first number that differs decides; null where it is unknown
 * @property {boolean} helps
 * @property {string | null} [assumes] what it assumes that was not so: no advice, listed last
 */

/**
 * @param {{variants: {key: string, name: string, cases: object[]}[]}} answer of what-if.json
 * @param {number} place of the case
 * @returns {{real: Line | null, changed: Line[], same: Line[], assumed: Line[]}} changed: most helpful first; assumed: changes that could not have been made in time, likewise
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
