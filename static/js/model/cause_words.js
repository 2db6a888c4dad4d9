/** Words for the causes of duplicates, collected from all protocols. */

import { LIGHT_PROTOCOLS } from "../protocols/light_table.js";

const WORDS = Object.assign({}, ...LIGHT_PROTOCOLS.map(({ causes }) => causes));

/** @returns {string} */
export const causeWords = (cause) => WORDS[cause] ?? cause.replaceAll("_", " ");
