/** The gallery page: finds its root and makes it live. */

import { openGallery } from "./gallery_page.js";

const root = document.querySelector("[data-gallery]");
if (root) openGallery({ document, root, window, fetcher: (...given) => fetch(...given) });
