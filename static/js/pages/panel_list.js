import { PROTOCOLS } from "../protocols/table.js";

/**
 * The panels that hang under the logs beside “Time”, in the order of their tabs: those of each protocol, one that several
 * have only once. To add one: put it in its protocol's manifest; the recipe in CONTRIBUTING.md says what a panel is.
 *
 * @typedef {object} Panel
 * @property {string} name for addresses (`?panel=name`) and tests, in words-with-hyphens
 * @property {string} title on the tab
 * @property {string} [family] of scenarios that it is about: there it is shown first
 * @property {string | string[]} [needs] a kind of names that a lab must have, or several of which it must have one: without `tenants`, say, there is no tab unless the address asks for it;
 *   `peers` are the clusters beside the first
 * @property {(section: HTMLElement, parts: import("./panels.js").PanelParts) => PanelView} make called once, when it is first shown
 */
/**
 * @typedef {object} PanelView
 * @property {(state: import("../model/state.js").LabState, watched: object, given: {theme: object, ratio: number, wall_ms: number, now_us: number, lit: object | null, landmarks: object}) => void} update
 *   called after each frame or change while the panel is shown, never while it is not
 * @property {Object<string, () => void>} [acts] what keys of the time diagram do while the panel is shown
 * @property {() => void} [copy] copies what the panel is about, when it has something to copy
 */

/** @type {Panel[]} */
export const PANELS = [...new Set(PROTOCOLS.flatMap(({ panels }) => panels))];
