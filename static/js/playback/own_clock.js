/**
 * A clock kept by the page itself, for runs that are loaded completely. Pure: the wall clock is an argument.
 *
 * @typedef {{at_us: number, end_us: number, playing: boolean, speed: number, since_ms: number}} OwnClock
 */

/** @returns {OwnClock} */
export const clockUpTo = (end_us, speed) => ({ at_us: 0, end_us, playing: false, speed, since_ms: 0 });

/** @returns {number} µs */
export function shown(clock, wall_ms) {
  if (!clock.playing) return clock.at_us;
  return Math.min(clock.end_us, clock.at_us + Math.max(0, wall_ms - clock.since_ms) * 1000 * clock.speed);
}

/** The same instant, measured from the present wall clock. */
const taken = (clock, wall_ms) => ({ ...clock, at_us: shown(clock, wall_ms), since_ms: wall_ms });

/** Starts playing; a clock at its end starts from 0. */
export function played(clock, wall_ms) {
  const now = taken(clock, wall_ms);
  return { ...now, at_us: now.at_us >= clock.end_us ? 0 : now.at_us, playing: true };
}

export const paused = (clock, wall_ms) => ({ ...taken(clock, wall_ms), playing: false });
export const atSpeed = (clock, speed, wall_ms) => ({ ...taken(clock, wall_ms), speed });
export const movedTo = (clock, at_us, wall_ms) => ({ ...clock, at_us: Math.max(0, Math.min(clock.end_us, at_us)), since_ms: wall_ms });

/** Paused if the end is reached. */
export const settled = (clock, wall_ms) => (clock.playing && shown(clock, wall_ms) >= clock.end_us ? paused(clock, wall_ms) : clock);
