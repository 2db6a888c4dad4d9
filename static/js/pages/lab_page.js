/**
 * Opens one lab on one page: receives messages, reduces them to a state, draws it in a loop.
 * It connects the parts and does not depend on how they work. `document`, socket, clock and random numbers are parameters.
 */

import { found } from "../render/dom.js";
import { protocolOf, requireProtocol } from "../protocols/table.js";
import { VersionError } from "../wire/decode.js";
import { makeCredit, openConnection } from "../wire/connection.js";
import { makeRequests } from "../wire/http.js";
import { ownerToken, storageOf } from "../wire/token.js";
import { emptyLab } from "../model/state.js";
import { reduce, whatIsWatched } from "../model/reduce.js";
import { selectionOf } from "../model/addresses.js";
import { instantShown, makeLoop, stoppedClock, tookFrame } from "../transport/clock.js";
import { makeLabLink } from "../transport/lab_link.js";
import { usesStoredKeys } from "./share.js";
import { makeView } from "./lab_view.js";
import { makePlayed } from "../model/played.js";

/**
 * @typedef {object} Held what the page holds of its lab
 * @property {import("../model/state.js").LabState} state
 * @property {object} selection what the viewer chose to show
 * @property {object} clock
 * @property {boolean} fresh_hello whether the next hello requests a snapshot frame
 */

/**
 * @param {object} parts
 * @param {Document} parts.document
 * @param {HTMLElement} parts.root has data-lab-id, data-socket-path, data-api-base
 * @param {Window} parts.window
 * @param {(path: string) => WebSocket} parts.makeSocket
 * @param {typeof fetch} parts.fetcher
 * @param {() => number} parts.now ms
 * @param {() => number} parts.random
 */
export function openLab({ document, root, window, makeSocket, fetcher, now, random }) {
  const base = root.dataset.apiBase.endsWith("/") ? root.dataset.apiBase : `${root.dataset.apiBase}/`;
  const stored = usesStoredKeys(root, window);
  const token = ownerToken(root.dataset.labId, window.location, stored ? storageOf(window) : null, stored ? window.history : null);
  const requests = makeRequests(fetcher, found(root, "input[name=csrfmiddlewaretoken]")?.value ?? "");
  /** @type {Held} */
  const held = { state: emptyLab(), selection: selectionOf(window.location.search), clock: stoppedClock(), fresh_hello: false };
  const getState = () => held.state;
  const getWatched = () => whatIsWatched(held.state, held.selection);
  const say = (notice) => view.say(notice);
  const wake = () => loop.wake();

  const link = makeLabLink({ send: (message) => connection.send(message), isOwner: () => held.state.welcome && held.state.welcome.owner === true, say });
  const choose = (more) => {
    held.selection = { ...held.selection, ...more };
    view.redraw();
    wake();
  };
  /** Draws at once and completely, for pictures. @param {number} [ratio] bitmap px per CSS px, by default the screen's @returns {boolean} whether the state has changed by it */
  function drawNow(ratio) {
    const before = held.state;
    view.redraw();
    drawn(held, view, getWatched(), now(), ratio);
    return held.state !== before;
  }
  const view = makeView({ document, root, window, link, send: (message) => connection.send(message), requests, base, token, getState, getWatched, getSelection: () => held.selection, choose, wake, drawNow, now, storage: storageOf(window) });
  const played = makePlayed({ storage: storageOf(window), say });
  const loop = makeLoop({ request: (run) => window.requestAnimationFrame(run), now, tick: (wall_ms) => drawn(held, view, getWatched(), wall_ms) });
  const connection = openConnection({
    makeSocket: () => makeSocket(root.dataset.socketPath),
    hello: () => helloOf(held, token),
    onFrame: makeTaking(held, { view, link, played, wake, now, send: (message) => connection.send(message), resynchronise: () => connection.resynchronise() }),
    onState: (word, wait_ms) => view.connection(word, wait_ms),
    onError: refused,
    later: (run, wait_ms) => window.setTimeout(run, wait_ms),
    random,
  });

  /** @param {Error} reason why a message could not be decoded; if the versions differ, no later message can be either */
  function refused(reason) {
    if (!(reason instanceof VersionError)) return say({ error: reason.message });
    connection.close();
    view.differs(reason.message);
  }

  wake();
  /**
   * Marks the entries of which only this run has an event or message, on the page of two runs.
   * @param {NonNullable<import("../model/state.js").LabState["only"]>} only
   * @returns {boolean} whether the picture has such a mark
   */
  function markOnly(only) {
    held.state = { ...held.state, only };
    view.redraw();
    wake();
    return Object.keys(only).length > 0 && protocolOf(held.state).legend.some(({ marks }) => marks.includes("only-here"));
  }

  return { getState, getWatched, link, showRow: view.showRow, timeAxis: view.timeAxis, shareTimeAxis: view.shareTimeAxis, markOnly, frame_times_ms: loop.times_ms, wake, close: () => connection.close(), dropLine: () => connection.resynchronise() };
}

/** @param {Held} held @param {number} [ratio] @returns {boolean} whether there is more to draw */
function drawn(held, view, watched, wall_ms, ratio) {
  const again = view.draw(held.state, watched, instantShown(held.clock, wall_ms), wall_ms, ratio);
  const before = held.state;
  for (const older of view.older(held.state)) held.state = reduce(held.state, older);
  return again || held.state.playing || held.state !== before;
}

/** @param {Held} held @param {string | null} token @returns {object} the token, and the frame after which the server may resume */
function helloOf(held, token) {
  const { epoch, number } = held.state;
  const resume = !held.fresh_hello && epoch >= 0 ? { epoch, number } : {};
  held.fresh_hello = false;
  return { ...(token ? { token } : {}), ...resume };
}

/** @param {Held} held @returns {(message: any) => void} handles a message of the server */
function makeTaking(held, { view, link, played, wake, now, send, resynchronise }) {
  const credit = makeCredit();

  /** @returns {boolean} false for a frame that does not follow: the page then reconnects and requests a snapshot frame */
  function takeFrame(message, before) {
    if (held.state.gaps > before.gaps) {
      held.fresh_hello = true;
      resynchronise();
      return false;
    }
    const seen = credit(message);
    if (seen) send(seen);
    if (held.state.view?.branch !== before.view?.branch) view.forgetBranch();
    held.clock = tookFrame(held.clock, held.state, now());
    return true;
  }

  return function take(message) {
    if (message.type === "welcome") requireProtocol(message.protocol);
    if (message.type === "result" || (message.type === "error" && message.code !== "engine-bug")) link.answered(message); // an internal error is not an answer to a command but a lasting state
    view.receive(message);
    const before = held.state;
    held.state = reduce(held.state, message);
    if (message.type === "welcome") link.ownerKnown();
    if (message.type === "welcome" && before.welcome === null) view.welcomed();
    if (message.type === "frame" && !takeFrame(message, before)) return;
    played(held.state);
    wake();
  };
}

