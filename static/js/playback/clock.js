/**
 * Computes the instant that the page shows between two frames of the server. Pure: the wall clock is an argument.
 * During playback the instant shown advances at the lab's speed from the newest frame, by at most AHEAD_MS. It never moves back within
 * one epoch. When playback is paused it is exactly the server's.
 */

/** How far the page may advance beyond the last frame, ms of the wall clock. When the connection is lost the clock stops there. */
export const AHEAD_MS = 150;

/** @typedef {{epoch: number, at_us: number, seen_ms: number, playing: boolean, speed: number, shown_us: number}} Clock */

/** @returns {Clock} */
export const stoppedClock = () => ({ epoch: -1, at_us: 0, seen_ms: 0, playing: false, speed: 1, shown_us: 0 });

/**
 * @param {Clock} clock
 * @param {{epoch: number, at_us: number, playing: boolean, speed: number}} frame the lab's state after a frame
 * @param {number} wall_ms
 * @returns {Clock}
 */
export function tookFrame(clock, frame, wall_ms) {
  const before_us = instantShown(clock, wall_ms);
  const same = frame.epoch === clock.epoch;
  return {
    epoch: frame.epoch,
    at_us: frame.at_us,
    seen_ms: wall_ms,
    playing: frame.playing,
    speed: frame.speed,
    shown_us: same && frame.playing ? Math.max(before_us, frame.at_us) : frame.at_us,
  };
}

/** @returns {number} the instant to show, µs */
export function instantShown(clock, wall_ms) {
  if (!clock.playing) return clock.at_us;
  const elapsed_ms = Math.min(AHEAD_MS, Math.max(0, wall_ms - clock.seen_ms));
  return Math.max(clock.shown_us, clock.at_us + Math.round(elapsed_ms * 1000 * clock.speed));
}
