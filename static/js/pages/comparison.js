/** The entry point of the comparison page: finds its root element and opens it. */

import { found } from "../render/dom.js";
import { openComparison } from "./comparison_page.js";

const root = found(document, "[data-comparison]");
if (root) globalThis.failoverComparison = openComparison({ document, root, window, fetcher: (address, options) => fetch(address, options) });
