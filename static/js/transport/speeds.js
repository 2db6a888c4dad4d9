/** The speeds that the slider offers, in simulated seconds per second of the wall clock, and their labels. */

export const SPEEDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000];
/** The server accepts no higher speed: the engine then runs as fast as it can. */
export const FASTEST = SPEEDS[SPEEDS.length - 1];

/** @returns {number} index in SPEEDS of the nearest speed */
export function placeOfSpeed(speed) {
  let best = 0;
  for (let at = 1; at < SPEEDS.length; at++) if (Math.abs(Math.log(SPEEDS[at] / speed)) < Math.abs(Math.log(SPEEDS[best] / speed))) best = at;
  return best;
}

/** @returns {string} "1⁄50", "real time", "×5" */
export function speedText(speed) {
  if (speed >= FASTEST) return "full speed";
  if (speed >= 1) return speed === 1 ? "real time" : `×${speed}`;
  return `1⁄${Math.round(1 / speed)}`;
}

/** @returns {string} for screen readers */
export function speedWords(speed) {
  if (speed >= FASTEST) return "as fast as possible";
  return speed >= 1 ? `${speed} times real time` : `one ${Math.round(1 / speed)}th of real time`;
}
