/** The entry point of the page “Experiments”: finds its root element and opens it. */

import { found } from "../render/dom.js";
import { openExperiments } from "./experiments_page.js";

const root = found(document, "[data-experiments]");
if (root) openExperiments({ document, root, window, fetcher: (address, options) => fetch(address, options) });
