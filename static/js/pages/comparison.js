/** The page of a comparison: finds its root and makes it live. */

import { openComparison } from "./comparison_page.js";

const root = document.querySelector("[data-comparison]");
if (root) globalThis.failoverComparison = openComparison({ document, root, window, fetcher: (...given) => fetch(...given) });
