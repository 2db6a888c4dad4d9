/** The entry point of the lab page: finds its root element and opens the lab. Tests replace what is passed in here. */

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
