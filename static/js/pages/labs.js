/** The page of one's labs: finds its root and makes it live. */

import { found } from "../render/dom.js";
import { openLabs } from "./labs_page.js";

const root = found(document, "[data-labs]");
if (root) openLabs({ document, root, window, fetcher: (address, options) => fetch(address, options), now: () => Date.now() });
