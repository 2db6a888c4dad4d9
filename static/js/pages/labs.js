/** The entry point of the page “My labs”: finds its root element and opens it. */

import { found } from "../render/dom.js";
import { openLabs } from "./labs_page.js";

const root = found(document, "[data-labs]");
if (root) openLabs({ document, root, window, fetcher: (address, options) => fetch(address, options), now: () => Date.now() });
