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
