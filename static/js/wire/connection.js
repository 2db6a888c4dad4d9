/**
 * The socket of one page: connects, sends the hello with the last frame received, and reconnects when it is closed.
 * Rules: one socket at a time; nothing is sent before the hello; after `close` it does not reconnect.
 * It does not interpret frames: the page checks them with `placeOf` and calls `resynchronise` on a gap.
 */

import { decode, WireError } from "./decode.js";
import { waitBefore } from "./backoff.js";

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
