/**
 * The protocols on pages without a lab: only what the gallery, the list of labs, the comparison and the set-up page need of them, so that
 * those pages do not load all that a lab needs. One table with dynamic import() would not do instead: a card's picture and a cause's words are
 * needed at once, and the few modules behind this table are loaded by every such page anyway.
 *
 * @typedef {object} LightProtocol
 * @property {(picture: object) => boolean} draws whether a scenario's small picture is one of the protocol
 * @property {(canvas: HTMLCanvasElement, picture: object, theme: object, given: {ratio: number, width: number, height: number}) => void} paintPicture
 * @property {Object<string, string>} causes causes of a duplicate in a few words, by the names that the counting registers
 */

import { EMQX_LIGHT } from "./emqx/light.js";
import { PULSAR_LIGHT } from "./pulsar/light.js";

/** @type {LightProtocol[]} */
export const LIGHT_PROTOCOLS = [EMQX_LIGHT, PULSAR_LIGHT];
