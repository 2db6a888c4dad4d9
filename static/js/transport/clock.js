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

/**
 * The animation loop: calls `tick` once per animation frame while something moves, and once after each `wake`.
 * It does not depend on what is drawn. It records the script time of the last frames for measurements.
 */

/** Number of recorded script times, one per animation frame. */
const KEPT = 240;

/**
 * @param {object} parts
 * @param {(run: (wall_ms: number) => void) => void} parts.request requestAnimationFrame
 * @param {() => number} parts.now ms of the wall clock
 * @param {(wall_ms: number) => boolean} parts.tick draws; returns true when it needs a further frame
 */
export function makeLoop({ request, now, tick }) {
  let asked = false;
  const times_ms = [];

  function frame(wall_ms) {
    asked = false;
    const begun_ms = now();
    const again = tick(wall_ms);
    times_ms.push(now() - begun_ms);
    if (times_ms.length > KEPT) times_ms.shift();
    if (again) wake();
  }

  function wake() {
    if (asked) return;
    asked = true;
    request(frame);
  }
  return { wake, times_ms };
}

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
