/**
 * Where a frame stands beside the last one seen. Frames of one epoch are numbered without holes; a snapshot frame may
 * come at any number and starts over from itself.
 */

/**
 * @param {{epoch: number, number: number}} seen the last frame taken in; epoch -1 before the first
 * @param {{epoch: number, number: number, snapshot: boolean}} frame
 * @returns {"take" | "old" | "gap"} take it, leave it, or ask the server for a snapshot
 */
export function placeOf(seen, frame) {
  if (frame.snapshot) return frame.epoch < seen.epoch ? "old" : "take";
  if (frame.epoch < seen.epoch) return "old";
  if (frame.epoch > seen.epoch) return "gap";
  if (frame.number <= seen.number) return "old";
  return frame.number === seen.number + 1 ? "take" : "gap";
}
