/**
 * The protocols on pages without a lab: what the gallery, the list of labs, the comparison and the set-up page need.
 * Those pages thus do not load everything that a lab needs. A single table with dynamic import() would not help: a card's picture and
 * the names of causes are needed at once, and every such page loads the few modules behind this table anyway.
 *
 * @typedef {object} LightProtocol
 * @property {(picture: object) => boolean} draws whether a scenario's small picture is one of the protocol
 * @property {(canvas: HTMLCanvasElement, picture: object, theme: object, given: {ratio: number, width: number, height: number}) => void} paintPicture
 * @property {Object<string, string>} causes short texts for causes of duplicates, by the names that the engine registers
 */

import { EMQX_LIGHT } from "./emqx/light.js";
import { PULSAR_LIGHT } from "./pulsar/light.js";

/** @type {LightProtocol[]} */
export const LIGHT_PROTOCOLS = [EMQX_LIGHT, PULSAR_LIGHT];

const WORDS = Object.assign({}, ...LIGHT_PROTOCOLS.map(({ causes }) => causes));

/** The words for a cause of duplicates. @returns {string} */
export const causeWords = (cause) => WORDS[cause] ?? cause.replaceAll("_", " ");

/**
 * Draws a scenario's small picture, from a real run, as its protocol draws it: the marks of the lab without texts.
 * @param {HTMLCanvasElement} canvas
 * @param {object} picture as received from the server
 * @param {import("../render/theme.js").Theme} page_theme
 * @param {{ratio: number, width: number, height: number}} given
 */
export function paintPicture(canvas, picture, page_theme, given) {
  LIGHT_PROTOCOLS.find(({ draws }) => draws(picture))?.paintPicture(canvas, picture, page_theme, given);
}
