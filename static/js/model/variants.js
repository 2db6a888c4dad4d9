/** What would have helped, put in order for reading: the real run first, then what helped most, then what made no difference. */

const HARM = ["lost", "duplicates", "stranded", "redeliveries"];
const NO_DIFFERENCE = "no difference";

/**
 * @typedef {object} Line
 * @property {string} key
 * @property {string} name
 * @property {object} figures of the failover; empty when it did not come about
 * @property {string} difference in words
 */

/**
 * @param {{variants: {key: string, name: string, failovers: object[]}[]}} answer of what-if.json
 * @param {number} failover number of the failover
 * @returns {{real: Line | null, changed: Line[], same: Line[]}} changed: most helpful first; one that did not move stands last
 */
export function inOrder({ variants }, failover) {
  const lines = variants.map(({ key, name, failovers }) => ({ key, name, figures: failovers[failover] ?? {}, difference: failovers[failover]?.difference ?? "" }));
  const [real = null, ...others] = lines;
  const changed = others.filter((line) => line.difference !== NO_DIFFERENCE).sort(byHarm);
  return { real, changed, same: others.filter((line) => line.difference === NO_DIFFERENCE) };
}

function byHarm(one, other) {
  const moved = Number(other.figures.moved ?? false) - Number(one.figures.moved ?? false);
  if (moved) return moved;
  for (const name of HARM) {
    const apart = (one.figures[name] ?? 0) - (other.figures[name] ?? 0);
    if (apart) return apart;
  }
  return (one.figures.outage_us ?? 0) - (other.figures.outage_us ?? 0);
}

/** @returns {Line | null} the change that helped most, if any did */
export function mostHelpful({ real, changed }) {
  const best = changed.find((line) => line.figures.moved);
  return best && real && byHarm(best, real) < 0 && HARM.some((name) => best.figures[name] < real.figures[name]) ? best : null;
}
