/** The entry point of the page “Fidelity”: finds its root element and opens it. */

import { found } from "../render/dom.js";
import { openFidelity } from "./fidelity_page.js";

const root = found(document, "[data-fidelity]");
if (root) openFidelity({ document, root, window });
