/** The entry point of the page that opens a shared run: finds its root element and opens it. */

import { found } from "../render/dom.js";
import { openRun } from "./run_page.js";

const root = found(document, "[data-run]");
if (root) openRun({ document, root, window, fetcher: (address, options) => fetch(address, options) });
