/** The entry point of the lab page: finds its root element and opens the lab. Tests replace what is passed in here. */

import { found } from "../render/dom.js";
import { ownCopyFirst } from "./share.js";
import { openLab } from "./lab_page.js";

const root = found(document, "[data-lab-id]");
const fetcher = (address, options) => fetch(address, options);

function open() {
  globalThis.failoverLab = openLab({
    document,
    root,
    window,
    makeSocket: (path) => new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`),
    fetcher,
    now: () => performance.now(),
    random: Math.random,
  });
}

if (root?.classList.contains("embedded")) ownCopyFirst({ root, window, fetcher }).then((here) => here && open());
else if (root) open();
