/**
 * Decides when the page reports to the server up to which frame it has received (docs/websocket.md, Credit).
 * A report for every frame would cost the server as much as sending one. With one per `SEEN_EVERY` frames the server still has 30 of
 * its 40 frames of credit. A snapshot frame is reported at once.
 */

export const SEEN_EVERY = 10;

/** @returns {(frame: {epoch: number, number: number, snapshot: boolean}) => object | null} the message to send after this frame, if any */
export function makeCredit() {
  let unanswered = 0;
  return (frame) => {
    unanswered += 1;
    if (unanswered < SEEN_EVERY && !frame.snapshot) return null;
    unanswered = 0;
    return { type: "seen", epoch: frame.epoch, number: frame.number };
  };
}
