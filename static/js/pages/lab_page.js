/**
 * One lab on one page: messages come in, the reducer makes a state, the loop draws it. It connects the parts,
 * and does not depend on how they work. `document`, socket, clock and chance are parameters.
 */

import { found } from "../render/dom.js";
import { requireProtocol } from "../protocols/table.js";
import { VersionError } from "../wire/error.js";
import { openConnection } from "../wire/connection.js";
import { makeCredit } from "../wire/credit.js";
import { makeRequests } from "../wire/http.js";
import { ownerToken } from "../wire/token.js";
import { emptyLab } from "../model/state.js";
import { reduce } from "../model/reduce.js";
import { whatIsWatched } from "../model/watched.js";
import { instantShown, stoppedClock, tookFrame } from "../playback/clock.js";
import { makeLoop } from "../playback/loop.js";
import { makeLabLink } from "../transport/lab_link.js";
import { makeView } from "./lab_view.js";
import { makePlayed } from "./played.js";

/**
 * @param {object} parts
 * @param {Document} parts.document
 * @param {HTMLElement} parts.root carries data-lab-id, data-socket-path, data-api-base
 * @param {Window} parts.window
 * @param {(path: string) => WebSocket} parts.makeSocket
 * @param {typeof fetch} parts.fetcher
 * @param {() => number} parts.now ms
 * @param {() => number} parts.random
 */
export function openLab({ document, root, window, makeSocket, fetcher, now, random }) {
  const lab_id = root.dataset.labId;
  const base = root.dataset.apiBase.endsWith("/") ? root.dataset.apiBase : `${root.dataset.apiBase}/`;
  const token = ownerToken(lab_id, window.location, storageOf(window), window.history);
  const requests = makeRequests(fetcher, found(root, "input[name=csrfmiddlewaretoken]")?.value ?? "");
  let state = emptyLab();
  let wish = {};
  let clock = stoppedClock();
  let fresh_hello = false;
  const credit = makeCredit();

  const link = makeLabLink({ send: (message) => connection.send(message), isOwner: () => state.welcome && state.welcome.owner === true, say: (notice) => view.say(notice) });
  const watched = () => whatIsWatched(state, wish);
  const view = makeView({
    document,
    root,
    window,
    link,
    requests,
    base,
    token,
    getState: () => state,
    getWatched: watched,
    choose: (more) => {
      wish = { ...wish, ...more };
      view.redraw();
      loop.wake();
    },
    wake: () => loop.wake(),
    now,
  });

  const played = makePlayed({ storage: storageOf(window), say: (notice) => view.say(notice) });
  const loop = makeLoop({
    request: (run) => window.requestAnimationFrame(run),
    now,
    tick: (wall_ms) => {
      const again = view.draw(state, watched(), instantShown(clock, wall_ms), wall_ms);
      const before = state;
      for (const older of view.older(state)) state = reduce(state, older);
      return again || state.playing || state !== before;
    },
  });

  function take(message) {
    if (message.type === "welcome") requireProtocol(message.protocol);
    if (message.type === "result" || (message.type === "error" && message.code !== "engine-bug")) link.answered(message); // an internal error is a lasting state
    view.heard(message);
    const before = state;
    state = reduce(state, message);
    if (message.type === "welcome") link.ownerKnown();
    if (message.type === "frame") {
      if (state.gaps > before.gaps) {
        fresh_hello = true;
        connection.resynchronise();
        return;
      }
      const seen = credit(message);
      if (seen) connection.send(seen);
      if (state.view?.branch !== before.view?.branch) view.forgetBranch();
      clock = tookFrame(clock, state, now());
    }
    played(state);
    loop.wake();
  }

  /** @param {Error} reason why a message was not taken in; if the versions differ no later one can be */
  function refused(reason) {
    if (!(reason instanceof VersionError)) return view.say({ error: reason.message });
    connection.close();
    view.differs(reason.message);
  }

  const connection = openConnection({
    makeSocket: () => makeSocket(root.dataset.socketPath),
    hello: () => {
      const resume = !fresh_hello && state.epoch >= 0 ? { epoch: state.epoch, number: state.number } : {};
      fresh_hello = false;
      return { ...(token ? { token } : {}), ...resume };
    },
    onFrame: take,
    onState: (word, wait_ms) => view.connection(word, wait_ms),
    onError: refused,
    later: (run, wait_ms) => window.setTimeout(run, wait_ms),
    random,
  });

  loop.wake();
  return { getState: () => state, getWatched: watched, link, frame_times_ms: loop.times_ms, wake: loop.wake, close: () => connection.close(), dropLine: () => connection.resynchronise() };
}

function storageOf(window) {
  try {
    return window.localStorage;
  } catch {
    return null; // a private window may refuse; the token then lasts as long as the page
  }
}
