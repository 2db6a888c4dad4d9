/** The page of a set-up of one's own: finds its root and makes it live. */

import { found } from "../render/dom.js";
import { openSetUp } from "./set_up_page.js";

const root = found(document, "[data-set-up]");
if (root) {
  globalThis.failoverSetUp = openSetUp({
    document,
    root,
    window,
    fetcher: (address, options) => fetch(address, options),
    makeSocket: (path) => new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`),
  });
}
