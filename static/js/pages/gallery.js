/** The entry point of the gallery page: finds its root element and opens it. */

import { found } from "../render/dom.js";
import { openGallery } from "./gallery_page.js";

const root = found(document, "[data-gallery]");
if (root) openGallery({ document, root, window, fetcher: (address, options) => fetch(address, options) });
