/** Causes of a duplicate in a few words, as the protocols say them. */

import { LIGHT_PROTOCOLS } from "../protocols/light_table.js";

const WORDS = Object.assign({}, ...LIGHT_PROTOCOLS.map(({ causes }) => causes));

/** @returns {string} */
export const causeWords = (cause) => WORDS[cause] ?? cause.replaceAll("_", " ");
