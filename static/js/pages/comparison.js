/** The page of a comparison: finds its root and makes it live. */

import { found } from "../render/dom.js";
import { openComparison } from "./comparison_page.js";

const root = found(document, "[data-comparison]");
if (root) globalThis.failoverComparison = openComparison({ document, root, window, fetcher: (address, options) => fetch(address, options) });
