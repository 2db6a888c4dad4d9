/**
 * The socket of one page: connects, sends the hello with the last frame received, and reconnects when it is closed.
 * Rules: one socket at a time; nothing is sent before the hello; after `close` it does not reconnect.
 * It does not interpret frames: the page checks them with `placeOf` and calls `resynchronise` on a gap.
 */

import { WireError, decode } from "./decode.js";

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

/**
 * @param {object} parts
 * @param {() => WebSocket} parts.makeSocket makes a new socket to the lab
 * @param {() => object} parts.hello token, epoch and number to resume from
 * @param {(frame: object) => void} parts.onFrame each decoded frame, in order
 * @param {(state: "connecting" | "open" | "waiting" | "closed", wait_ms?: number) => void} parts.onState
 * @param {(error: Error) => void} parts.onError reports a message that could not be decoded, as a text for the viewer
 * @param {(run: () => void, wait_ms: number) => unknown} parts.later
 * @param {() => number} parts.random
 */
export function openConnection({ makeSocket, hello, onFrame, onState, onError, later, random }) {
  let socket = null;
  let attempt = 0;
  let closed = false;

  function open() {
    if (closed) return;
    onState("connecting");
    const own = makeSocket();
    socket = own;
    own.onopen = () => {
      attempt = 0;
      own.send(JSON.stringify({ type: "hello", ...hello() }));
      onState("open");
    };
    own.onmessage = (event) => {
      if (own === socket && !closed) take(event.data); // a socket that is closing may still deliver messages
    };
    own.onclose = () => {
      if (own !== socket) return;
      socket = null;
      if (closed) return;
      const wait_ms = waitBefore(attempt++, random);
      onState("waiting", wait_ms);
      later(open, wait_ms);
    };
  }

  function take(text) {
    try {
      onFrame(decode(text));
    } catch (reason) {
      if (!(reason instanceof WireError)) throw reason;
      onError(reason);
    }
  }

  open();
  return {
    /** @returns {boolean} false when the connection is lost: nothing is queued, the caller must report it */
    send(message) {
      if (!socket || socket.readyState !== 1) return false;
      socket.send(JSON.stringify(message));
      return true;
    },
    /** Closes the socket, so that it reconnects; the page's `hello` then names an epoch that the server cannot resume. */
    resynchronise() {
      if (socket) socket.close();
    },
    close() {
      closed = true;
      if (socket) socket.close();
      onState("closed");
    },
  };
}

/**
 * Decides when the page reports to the server up to which frame it has received (docs/http-api.md, Credit).
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
