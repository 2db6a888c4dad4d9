import { ADMIN_PANEL } from "../protocols/pulsar/pages/admin_panel.js";
import { BROKERS } from "../protocols/pulsar/pages/brokers_panel.js";
import { CREATION } from "../protocols/pulsar/pages/creation_panel.js";
import { FORECAST } from "../protocols/pulsar/pages/forecast_panel.js";
import { HANDSHAKES } from "../protocols/emqx/pages/handshake_panel.js";
import { LAYERS } from "../protocols/emqx/pages/layers_panel.js";
import { MIGRATION } from "../protocols/pulsar/pages/migration_panel.js";
import { ROUNDS } from "../protocols/emqx/pages/rounds_panel.js";
import { SHADOWS } from "../protocols/pulsar/pages/shadow_panel.js";
import { WHY_TWICE } from "./story_panel.js";
import { WHAT_IF } from "./what_if_panel.js";

/**
 * The panels that hang under the logs beside “Time”, in the order of their tabs. To add one: import it, put it in the list;
 * the recipe in CONTRIBUTING.md says what a panel is.
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
export const PANELS = [HANDSHAKES, LAYERS, ROUNDS, WHY_TWICE, WHAT_IF, FORECAST, ADMIN_PANEL, CREATION, SHADOWS, MIGRATION, BROKERS];
