/** The list of panels of all protocols. */
import { PROTOCOLS } from "../protocols/table.js";

/**
 * The panels below the logs beside “Time”, in the order of their tabs: those of each protocol. A panel that several protocols
 * have is listed once. To add one, put it in its protocol's manifest; the recipe in CONTRIBUTING.md explains what a panel is.
 *
 * @typedef {object} Panel
 * @property {string} name in addresses (`?panel=name`) and tests, words with hyphens
 * @property {string} title on the tab
 * @property {string} [family] of scenarios that it belongs to: there it is the first panel
 * @property {string | string[]} [needs] kinds of names of which the lab must have at least one, such as `tenants`; without any there is no tab unless the address names the panel;
 *   `peers` are the clusters other than the first
 * @property {boolean} [simulated] whether it needs a simulated run: a recorded one has no such tab
 * @property {(section: HTMLElement, parts: import("./panels.js").PanelParts) => PanelView} make called once, when it is first shown
 */
/**
 * @typedef {object} PanelView
 * @property {(state: import("../model/state.js").LabState, watched: object, given: {theme: object, ratio: number, wall_ms: number, now_us: number, lit: object | null, landmarks: object, loading: boolean}) => void} update
 *   called after each frame or change while the panel is shown, never while it is not
 * @property {Object<string, () => void>} [acts] actions of the keys of the time diagram while the panel is shown
 * @property {() => void} [copy] copies the panel's text, for panels with a text to copy
 */

/** @type {Panel[]} */
export const PANELS = [...new Set(PROTOCOLS.flatMap(({ panels }) => panels))];
