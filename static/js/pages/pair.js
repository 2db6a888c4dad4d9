/** The entry point of the page of two runs: finds its root element and opens it. */

import { found } from "../render/dom.js";
import { openPair } from "./pair_page.js";

const root = found(document, "[data-pair]");
if (root) openPair({ document, root, window, fetcher: (address, options) => fetch(address, options) });
