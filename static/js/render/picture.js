/** Draws a scenario's small picture, from a real run, as its protocol draws it: the marks of the lab without texts. */

import { LIGHT_PROTOCOLS } from "../protocols/light_table.js";

/**
 * @param {HTMLCanvasElement} canvas
 * @param {object} picture as received from the server
 * @param {import("./theme.js").Theme} page_theme
 * @param {{ratio: number, width: number, height: number}} given
 */
export function paintPicture(canvas, picture, page_theme, given) {
  LIGHT_PROTOCOLS.find(({ draws }) => draws(picture))?.paintPicture(canvas, picture, page_theme, given);
}
