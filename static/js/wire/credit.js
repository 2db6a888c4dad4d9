/**
 * When the page tells the server how far it has taken frames in (docs/websocket.md, Credit). Every frame would cost the server
 * as much as sending one; after `SEEN_EVERY` the server still has 30 of its 40 frames left. A snapshot is answered at once.
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
