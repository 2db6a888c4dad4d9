/** The lab page: finds its root, opens the lab. Everything that a test would replace is handed over here. */

import { found } from "../render/dom.js";
import { openLab } from "./lab_page.js";

const root = found(document, "[data-lab-id]");
if (root) {
  globalThis.failoverLab = openLab({
    document,
    root,
    window,
    makeSocket: (path) => new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`),
    fetcher: (address, options) => fetch(address, options),
    now: () => performance.now(),
    random: Math.random,
  });
}
