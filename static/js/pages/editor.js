/** The entry point of the scenario editor: finds its root element and opens it. */

import { found } from "../render/dom.js";
import { openEditor } from "./editor_page.js";

const root = found(document, "[data-editor]");
if (root) {
  openEditor({ document, root, window, fetcher: (address, options) => fetch(address, options), ace: globalThis.ace }).then((opened) => {
    globalThis.failoverEditor = opened;
  });
}
