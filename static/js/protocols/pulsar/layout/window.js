/**
 * Chooses how much of the logs the page shows.
 * By default the window reaches from just before the slowest cursor to the head, in a few fixed widths so that it does not change all the
 * time. A viewer's zoom or drag stays until the viewer chooses to follow again.
 */

/** Widths of a message among which the window chooses, in px. */
export const WIDTHS_PX = [30, 22, 16, 14, 12, 10, 8, 6, 5, 4, 3, 2, 1.4, 1, 0.7, 0.5, 0.35, 0.25, 0.17, 0.12, 0.08];
/** Further widths while a tour shows messages large, in px. */
const LARGE_PX = [88, 66, 50, 40];
/** Widths that a viewer may choose, in px. */
const ZOOM_PX = [44, 30, 22, 16, 12, 8, 5, 3, 2, 1, 0.5, 0.25, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001];

/**
 * @typedef {{unit_px: number, back: number, held: boolean, backs?: Object<string, number>}} Window held: the viewer chose the width;
 *   backs: set when lanes scroll independently; how far each was dragged
 */

/** @returns {number} entries after the window in one lane */
export const backOf = (window, lane) => window.backs?.[lane] ?? window.back;

/** Switches between lanes that scroll together and lanes that scroll independently from their present positions. @returns {Window} */
export const parted = (window, lanes) => (window.backs ? { ...window, backs: undefined } : { ...window, backs: Object.fromEntries(lanes.map((lane) => [lane, window.back])), held: true });

/** @returns {Window} */
export const followingWindow = (unit_px = 12) => ({ unit_px, back: 0, held: false });

/**
 * @param {Window} window
 * @param {number} needed_units from just before the slowest cursor to the head
 * @param {number} room_px length of the lane
 * @param {number} scale
 * @param {boolean} playing when paused, the width depends only on the needed units, not on earlier widths
 * @param {{least_px?: number, large?: boolean}} [given] least_px: smallest width of a message, such as one that a finger can hit; large: whether few messages may be wider than usual
 * @returns {Window} the same object when nothing changes
 */
export function fitted(window, needed_units, room_px, scale, playing, { least_px = 0, large = false } = {}) {
  if (window.held || needed_units <= 0) return window;
  const widths = (large ? [...LARGE_PX, ...WIDTHS_PX] : WIDTHS_PX).map((width) => width * scale).filter((width, at) => at === 0 || width >= least_px);
  const wanted = room_px / needed_units;
  const best = widths.find((width) => width <= wanted) ?? widths[widths.length - 1];
  const current = window.unit_px;
  // during playback: narrower at once, since the cursor would leave the picture; wider only with room to spare
  if ((best !== current && !playing) || best < current || (best > current && wanted > current * 1.5) || !widths.includes(current)) return { ...window, unit_px: best };
  return window;
}

/** @param {1 | -1} direction 1 zooms in @returns {Window} */
export function zoomed(window, direction, scale) {
  const widths = ZOOM_PX.map((width) => width * scale);
  const at = nearest(widths, window.unit_px);
  const next = widths[Math.min(widths.length - 1, Math.max(0, at - direction))];
  return { ...window, unit_px: next, held: true };
}

function nearest(widths, width) {
  let best = 0;
  for (let at = 1; at < widths.length; at++) if (Math.abs(Math.log(widths[at] / width)) < Math.abs(Math.log(widths[best] / width))) best = at;
  return best;
}

/**
 * @param {number} by_px positive drags older entries into view
 * @param {number} longest length of the longest log
 * @param {string | null} lane the dragged lane, when lanes scroll independently
 */
export function dragged(window, by_px, longest, lane = null) {
  const within = (back) => Math.max(0, Math.min(longest, Math.round(back + by_px / window.unit_px)));
  if (window.backs && lane !== null) return { ...window, backs: { ...window.backs, [lane]: within(backOf(window, lane)) }, held: true };
  return { ...window, back: within(window.back), held: true };
}
