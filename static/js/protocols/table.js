/**
 * The protocols of the lab page. The page's own modules read this table and name no protocol; to add one, write its manifest and
 * put it here. Pages without a lab read `light_table.js`, so that they stay small.
 *
 * @typedef {object} Protocol
 * @property {string} name as the server's welcome has it in `protocol`
 * @property {string} [page_class] class of the page's root while such a lab is shown, for the stylesheet
 * @property {(state: object, wish: object) => object} watched see model/watched.js
 * @property {() => object} [nothingFolded] what a state holds for the protocol before the first frame
 * @property {(base: object, frame: object, given: object) => object} [foldFrame] what a frame changes in that
 * @property {Object<string, (state: object, message: object) => object>} [takes] reducers of the messages that the protocol's own view asks for
 * @property {(state: object, watched: object) => Object<string, string[]>} choices names to choose from: `topic`, `subscription`, `group`
 * @property {(state: object, watched: object) => {snapshots: boolean, peers: boolean}} possible what the lab can have at all
 * @property {(state: object, watched: object) => import("../model/sentence.js").Part[]} sentence the headline
 * @property {(state: object, watched: object) => import("../model/sentence.js").Part[] | null} [secondSentence] the line under it
 * @property {(state: object, watched: object) => {question: string | null, shown: boolean}} ask the question under the sentence, and whether its line is shown
 * @property {(state: object, watched: object) => {title: string, lines: string[]}[]} mirror the instant in words
 * @property {Object<string, (row: object) => Array<string | object>>} rows by event type its line in words
 * @property {(row: object) => string | null} [glyphOfRow]
 * @property {(row: object) => boolean} [isDetail] whether another row says the same, so that the list of protocol events leaves it out
 * @property {(row: object) => boolean} [isProtocolMessage] whether a row about a message is listed with the protocol events all the same
 * @property {(row: object) => string | false} [repeatOf] rows of one type and key repeat each other and are one line of a list; false for a row of its own
 * @property {string[]} [entry_rows] event types whose rows contain an entry's position, beside message.stored
 * @property {import("../model/marks.js").MarkWords} marks words for faults and failovers on time axes
 * @property {(row: object) => "completed" | "failed" | null} [snapshotEnd] how a row ends a snapshot, if it does
 * @property {string} first_command that the form for any command begins with
 * @property {Object<string, (state: object, watched: object) => string[] | null>} argument_choices by kind of argument the names to choose from
 * @property {Object<string, string>} [hints] by kind of argument what its empty field says
 * @property {Object<string, (declared: string, command: object, state: object, watched: object) => string[]>} [live_consequences] by command what it will do
 *   where that depends on the present state; `declared` is the text that the simulator declares with the command
 * @property {(state: object, watched: object) => {title: string, items: import("../transport/menu.js").Item[]}[]} breakMenu the menu of "Break…"
 * @property {import("../transport/keys.js").KeysOf} keys
 * @property {(document: Document, legend: HTMLElement, theme: object, given: object) => void} writeLegend
 * @property {import("../pages/panel_list.js").Panel[]} panels in the order of their tabs
 * @property {(tools: import("../pages/protocol_view.js").Tools) => import("../pages/protocol_view.js").ProtocolView} makeView
 */

import { EMQX } from "./emqx/manifest.js";
import { PULSAR } from "./pulsar/manifest.js";
import { VersionError } from "../wire/error.js";

/** @type {Protocol[]} */
export const PROTOCOLS = [EMQX, PULSAR];

/**
 * @param {string | undefined} name of the protocol in the server's welcome
 * @throws {VersionError} for one that this page does not have
 */
export function requireProtocol(name) {
  if (PROTOCOLS.some((protocol) => protocol.name === name)) return;
  throw new VersionError(`This lab's protocol is “${name ?? "not named"}”, and this page can show only ${PROTOCOLS.map((protocol) => protocol.name).join(" and ")}.`);
}

/** @param {{welcome?: {protocol?: string} | null, view: object | null}} state of a lab @returns {Protocol | undefined} its protocol; undefined before the first frame. An unknown one never gets as far: see requireProtocol */
export const protocolOf = ({ welcome, view }) => (view ? PROTOCOLS.find(({ name }) => name === welcome?.protocol) : undefined);
