/** The entry point of an audit's page: finds its root element and opens it. */

import { found } from "../render/dom.js";
import { openAudit } from "./audit_page.js";

const root = found(document, "[data-audit]");
if (root) openAudit({ document, root, window, fetcher: (address, options) => fetch(address, options) });
