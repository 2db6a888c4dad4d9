/** The page of one's labs: finds its root and makes it live. */

import { openLabs } from "./labs_page.js";

const root = document.querySelector("[data-labs]");
if (root) openLabs({ document, root, window, fetcher: (...given) => fetch(...given), now: () => Date.now() });
