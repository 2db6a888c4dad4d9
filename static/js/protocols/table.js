/**
 * The protocols of the lab page. The page's own modules read this table and name no protocol.
 * To add a protocol, write its manifest and list it here. Pages without a lab read `light_table.js`, so that they stay small.
 *
 * @typedef {object} Protocol
 * @property {string} name as in the server's welcome, field `protocol`
 * @property {string} [page_class] class of the page's root while such a lab is shown, for the stylesheet
 * @property {(state: object, selection: object) => object} watched see `whatIsWatched` of model/reduce.js
 * @property {() => object} [nothingFolded] the protocol's part of a state before the first frame
 * @property {(base: object, frame: object, given: object) => object} [foldFrame] the changes of a frame to that part
 * @property {Object<string, (state: object, message: object) => object>} [takes] reducers of the messages that the protocol's own view requests
 * @property {(state: object, watched: object) => Object<string, string[]>} choices names that the viewer can choose from: `topic`, `subscription`, `group`
 * @property {(state: object, watched: object) => {snapshots: boolean, peers: boolean}} possible what can exist in the lab
 * @property {(state: object, watched: object) => import("../render/sentence.js").Part[]} sentence the headline
 * @property {(state: object, watched: object) => import("../render/sentence.js").Part[] | null} [secondSentence] the line under it
 * @property {(state: object, watched: object) => {question: string | null, shown: boolean}} ask the question under the sentence, and whether its line is shown
 * @property {(state: object, watched: object) => {title: string, lines: string[]}[]} mirror sections of the text view
 * @property {Object<string, (row: object, state: object, later?: object[]) => Array<string | object>>} rows by event type the line of a row; `later`: rows after the instant shown that it may refer to
 * @property {(row: object) => string | null} [glyphOfRow]
 * @property {(row: object) => boolean} [isDetail] whether another row reports the same, so that the list of protocol events leaves this one out
 * @property {(row: object) => boolean} [isProtocolMessage] whether a row about a message is also listed among the protocol events
 * @property {(row: object) => string | false} [repeatOf] key of a row: rows of one type and key are folded into one line of a list; false for a row that is never folded
 * @property {(row: object) => string | null} [groupOfRow] key of the thing under whose heading the list shows the row; null for rows without one
 * @property {(key: string, state: object, later: object[]) => Array<string | object>} [wordsOfGroup] the heading of a group; `later`: rows after the instant shown, where the group consists of these
 * @property {string[]} [entry_rows] event types whose rows contain an entry's position, besides message.stored
 * @property {import("../model/marks.js").MarkWords} marks texts for faults and failovers on time axes
 * @property {(row: object) => "completed" | "failed" | null} [snapshotEnd] how a row ends a snapshot; null for other rows
 * @property {string} first_command the command that the form offers first
 * @property {Object<string, (state: object, watched: object) => string[] | null>} argument_choices by kind of argument the names to choose from
 * @property {Object<string, string>} [hints] by kind of argument the placeholder of its field
 * @property {Object<string, (declared: string, command: object, state: object, watched: object) => string[]>} [live_consequences] by command its effect,
 *   where that depends on the present state; `declared` is the text that the simulator declares with the command
 * @property {(state: object, watched: object) => {title: string, items: import("../transport/menu.js").Item[]}[]} breakMenu the menu of "Break…"
 * @property {import("../transport/keys.js").KeysOf} keys
 * @property {import("../render/legend.js").LegendItem[]} legend an item for every kind of mark in the picture
 * @property {import("../pages/panels.js").Panel[]} panels in the order of their tabs
 * @property {(tools: import("../pages/lab_view.js").Tools) => import("../pages/lab_view.js").ProtocolView} makeView
 */

import { EMQX } from "./emqx/manifest.js";
import { PULSAR } from "./pulsar/manifest.js";
import { VersionError } from "../wire/decode.js";

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

/** @param {{welcome?: {protocol?: string} | null, view: object | null}} state of a lab @returns {Protocol | undefined} its protocol; undefined before the first frame. `requireProtocol` has refused unknown ones before. */
export const protocolOf = ({ welcome, view }) => (view ? PROTOCOLS.find(({ name }) => name === welcome?.protocol) : undefined);
