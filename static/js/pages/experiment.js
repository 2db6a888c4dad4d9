/** The entry point of an experiment's page: finds its root element and opens it. */

import { found } from "../render/dom.js";
import { openExperiment } from "./experiment_page.js";

const root = found(document, "[data-experiment]");
if (root) openExperiment({ document, root, window, fetcher: (address, options) => fetch(address, options) });
