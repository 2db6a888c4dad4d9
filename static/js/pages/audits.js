/** The entry point of the page “Audits”: finds its root element and opens it. */

import { found } from "../render/dom.js";
import { openAudits } from "./audits_page.js";

const root = found(document, "[data-audits]");
if (root) openAudits({ document, root, window, fetcher: (address, options) => fetch(address, options) });
