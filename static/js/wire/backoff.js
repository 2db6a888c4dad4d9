/** Computes how long to wait before reconnecting: doubled each time, bounded, and random, so that 500 pages do not return at once. */

export const FIRST_WAIT_MS = 400;
export const LONGEST_WAIT_MS = 8000;

/**
 * @param {number} attempt 0 for the first try after a loss
 * @param {() => number} random in [0, 1)
 * @returns {number} milliseconds, between half and all of the doubled wait
 */
export function waitBefore(attempt, random) {
  const whole_ms = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(attempt, 16));
  return Math.round(whole_ms * (0.5 + 0.5 * random()));
}
