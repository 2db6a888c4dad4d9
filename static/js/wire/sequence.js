/**
 * Decides whether a frame follows the last one received.
 * Frames of one epoch are numbered without gaps. A snapshot frame may have any number and starts anew from there.
 */

/**
 * @param {{epoch: number, number: number}} seen the last frame received; epoch -1 before the first
 * @param {{epoch: number, number: number, snapshot: boolean}} frame
 * @returns {"take" | "old" | "gap"} use it, ignore it, or request a snapshot frame from the server
 */
export function placeOf(seen, frame) {
  if (frame.snapshot) return frame.epoch < seen.epoch ? "old" : "take";
  if (frame.epoch < seen.epoch) return "old";
  if (frame.epoch > seen.epoch) return "gap";
  if (frame.number <= seen.number) return "old";
  return frame.number === seen.number + 1 ? "take" : "gap";
}
