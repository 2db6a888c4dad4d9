/** The frames of an animation: which simulated instants it shows, for how long, and within which bounds. Pure. */

import { counted, parseSpan, seconds, whole } from "./format.js";

/** Frames per second that a GIF can hold exactly: its unit is a hundredth of a second. */
export const RATES = [5, 10, 20, 25];
/** Simulated seconds per second of the animation. */
export const SPEEDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];
export const WIDTHS_PX = [640, 960, 1280, 1920];

/** Most frames: 400 go to their instants in a minute or two. */
export const FRAMES_MAX = 400;
/** Most pixels of all frames together: about a minute of encoding. */
export const PIXELS_MAX = 500_000_000;
/** Largest file, bytes: what programs for slides and messengers still take. */
export const BYTES_MAX = 50_000_000;

/** How long the last frame stays before the animation begins again, ms. */
export const LAST_MS = 2000;

/** What the viewer asked for cannot be made; the message says what could. */
export class AnimationError extends Error {}

/**
 * @typedef {object} Plan
 * @property {number[]} instants µs of simulated time, one for each frame
 * @property {number} frame_ms
 * @property {number} width px
 */

/**
 * @param {{from: string, to: string, speed: number, rate: number, width: number}} asked as typed and chosen
 * @param {number} end_us the last instant that may be shown
 * @returns {Plan}
 * @throws {AnimationError}
 */
export function planOf({ from, to, speed, rate, width }, end_us) {
  const [from_us, to_us] = [from, to].map(parseSpan);
  if (from_us === null || to_us === null) throw new AnimationError("From and to are instants in seconds, such as 4.5.");
  if (from_us >= to_us) throw new AnimationError("From must be before to.");
  if (to_us > end_us) throw new AnimationError(`This run reaches to ${seconds(end_us)} s: choose an earlier end.`);
  const step_us = (speed * 1e6) / rate;
  const count = Math.floor((to_us - from_us) / step_us + 1e-9) + 1;
  if (count > FRAMES_MAX) throw new AnimationError(`That is ${counted(count, "frame")}; at most ${FRAMES_MAX} are made. Choose a shorter range, a higher speed or fewer frames per second.`);
  const instants = Array.from({ length: count }, (_, at) => Math.round(from_us + at * step_us));
  return { instants, frame_ms: 1000 / rate, width };
}

/** @param {Plan} plan @returns {string} "81 frames, 8.0 s" */
export const planWords = ({ instants, frame_ms }) => `${counted(instants.length, "frame")}, ${seconds(instants.length * frame_ms * 1000, 1)} s`;

/**
 * @param {Plan} plan
 * @param {number} height px
 * @throws {AnimationError}
 */
export function checkPixels({ instants, width }, height) {
  const pixels = width * height * instants.length;
  if (pixels > PIXELS_MAX) throw new AnimationError(`${whole(instants.length)} frames of ${width} × ${height} px are ${whole(pixels / 1e6)} million pixels; at most ${whole(PIXELS_MAX / 1e6)} million are made. Choose a smaller width or fewer frames.`);
}

/**
 * @param {number} size bytes so far
 * @throws {AnimationError}
 */
export function checkBytes(size) {
  if (size > BYTES_MAX) throw new AnimationError(`The file has more than ${BYTES_MAX / 1e6} MB, the most that is made. Choose a smaller width or fewer frames.`);
}
