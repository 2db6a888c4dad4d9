/** The entry point of the page “My set-up”: finds its root element and opens it. */

import { found } from "../render/dom.js";
import { openSetUp } from "./set_up_page.js";

const root = found(document, "[data-set-up]");
if (root) {
  globalThis.failoverSetUp = openSetUp({
    document,
    root,
    window,
    fetcher: (address, options) => fetch(address, options),
  });
  // a visitor who leaves before the answer no longer needs it
  window.addEventListener("pagehide", () => globalThis.failoverSetUp.answered() || globalThis.failoverSetUp.close());
}
