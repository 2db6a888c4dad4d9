/** The page of a set-up of one's own: finds its root and makes it live. */

import { openSetUp } from "./set_up_page.js";

const root = document.querySelector("[data-set-up]");
if (root) {
  globalThis.failoverSetUp = openSetUp({
    document,
    root,
    window,
    fetcher: (...given) => fetch(...given),
    makeSocket: (path) => new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`),
  });
}
