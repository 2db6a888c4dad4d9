/**
 * The part of the lab page that a protocol provides: its main picture and what belongs to it.
 * The views of all protocols are made with the page, because their buttons are in the template. The view of the lab's protocol is shown.
 *
 * @typedef {object} Tools what a protocol's view receives
 * @property {Document} document
 * @property {HTMLElement} root
 * @property {ReturnType<import("../transport/lab_link.js").makeLabLink>} link play, seek, seekSeq, command
 * @property {ReturnType<import("../wire/http.js").makeRequests>} requests
 * @property {string} base path of the lab, ending in "/"
 * @property {() => any} getState the LabState, with what the protocol folds from frames
 * @property {() => object} getWatched
 * @property {(selection: object) => void} choose sets what is shown
 * @property {() => void} wake requests one more drawing
 * @property {() => void} redraw requests that everything is redrawn
 * @property {(notice: {error: string, hint?: string, tone?: string}) => void} say
 * @property {(producer: string, number: number) => void} follow sets the step filter to one message
 * @property {(row: object) => Array<string | object>} wordsOfRow
 * @property {ReturnType<import("./lights.js").makeLights>} lights
 * @property {ReturnType<import("../render/inspector.js").makeInspector>} inspector
 * @property {ReturnType<import("./faults.js").makeFaults>["menus"]} menus
 */
/** @typedef {import("../render/time_section.js").TimeAxis} TimeAxis */
/**
 * @typedef {object} ProtocolView
 * @property {Object<string, () => void>} acts actions of keys in the main picture
 * @property {Object<string, () => void>} [time_acts] actions of keys in the time diagram, for protocols with one
 * @property {(theme: object, watched: object) => object} [themeOf] the page's theme with the hues for what is shown
 * @property {(state: object, watched: object, theme: object, ratio: number) => boolean} [updateAbove] updates what is above the picture; true when its height changed
 * @property {(state: object, watched: object, theme: object, ratio: number, room: number, lit: object | null, chosen?: import("../render/marks.js").Chosen | null) => void} update draws the static part; `chosen`: the mark that the legend highlights
 * @property {(state: object, watched: object, theme: object, at_us: number, ratio: number, chosen?: import("../render/marks.js").Chosen | null) => boolean} animate draws the moving part; true while anything moves
 * @property {(state: object, watched: object, theme: object, given: object) => void} [updateTime] updates the time panel
 * @property {() => TimeAxis} [timeAxis] the axis that the time panel would have
 * @property {(axis: TimeAxis) => void} [shareTimeAxis] the time panel has this axis, which it shares with that of another run
 * @property {(state: object, watched: object, theme: object, ratio: number, width: number) => void} updateSide updates the tables beside the picture
 * @property {() => void} redraw
 * @property {(state: object) => object[]} [older] messages for the reducer, made from data that the picture has requested
 * @property {(state: object) => boolean} [isLoading] whether the picture still requests data that it needs
 * @property {() => void} [forgetBranch] drops the requested data of another branch
 * @property {() => void} failOver
 * @property {(look: object) => void} look shows the thing of a menu item in the inspector
 * @property {(row: object) => {says: string, act: () => void}[]} [actsOfRow] actions that are offered for a row of the list
 * @property {Predictions} [predictions] for protocols with positions in a log
 * @property {(shown: Explained | null) => void} [explain] how a tour has the picture shown, for protocols with positions in a log; null: as without a tour
 */
/**
 * @typedef {object} Explained
 * @property {{text: string, cluster: string, position: string, at_us: number} | null} [note] sentence beside an entry, from an instant on; the present one if absent
 * @property {boolean} large whether messages are drawn large while there are few: there is room for it while most of the page is hidden
 * @property {boolean} forecast whether messages that would be duplicates are marked
 */
/** @typedef {{cluster: string, choose: (position: string) => void}} Asked a question that a click in the lane of a cluster answers */
/**
 * @typedef {object} Predictions how the viewer chooses a position in a log
 * @property {(asked: Asked | null) => void} ask clicks choose a position until it is called with null
 * @property {(mark: {cluster: string, position: string} | null) => void} show marks a position in the picture
 * @property {(cluster: string, position: string, by: number) => string} beside the position some messages further
 * @property {(cluster: string, position: string) => string} words what a position covers, "" for none
 * @property {(cluster: string, one: string, other: string) => boolean} same whether two positions cover the same messages
 */

import { PROTOCOLS, protocolOf } from "../protocols/table.js";

/** @param {Tools} tools */
export function makeProtocolView(tools) {
  const { root, getState } = tools;
  const views = new Map(PROTOCOLS.map((protocol) => [protocol, protocol.makeView(tools)]));
  const now = () => views.get(protocolOf(getState()));
  const merged = (kind) => Object.fromEntries([...views.values()].flatMap((view) => Object.keys(view[kind] ?? {})).map((name) => [name, () => now()?.[kind]?.[name]?.()]));
  return {
    acts: merged("acts"),
    time_acts: merged("time_acts"),
    themeOf: (theme, watched) => now().themeOf?.(theme, watched) ?? theme,
    /** @type {ProtocolView["updateAbove"]} */
    updateAbove: (...given) => now().updateAbove?.(...given) ?? false,
    /** @type {ProtocolView["update"]} */
    update(state, ...given) {
      const shown = protocolOf(state);
      for (const protocol of PROTOCOLS) if (protocol.page_class) root.classList.toggle(protocol.page_class, protocol === shown);
      now().update(state, ...given);
    },
    /** @type {ProtocolView["animate"]} */
    animate: (...given) => now().animate(...given),
    /** @type {ProtocolView["updateTime"]} */
    updateTime: (...given) => now().updateTime?.(...given),
    /** @returns {TimeAxis | undefined} */
    timeAxis: () => now()?.timeAxis?.(),
    /** @param {TimeAxis} axis */
    shareTimeAxis: (axis) => now()?.shareTimeAxis?.(axis),
    /** @type {ProtocolView["updateSide"]} */
    updateSide: (...given) => now().updateSide(...given),
    redraw: () => views.forEach((view) => view.redraw()),
    older: (state) => now()?.older?.(state) ?? [],
    /** @type {(state: object) => boolean} */
    isLoading: (state) => now()?.isLoading?.(state) ?? false,
    forgetBranch: () => views.forEach((view) => view.forgetBranch?.()),
    failOver: () => now()?.failOver(),
    look: (look) => now().look(look),
    predictions: () => now()?.predictions ?? null,
    /** @type {ProtocolView["explain"]} */
    explain: (shown) => now()?.explain?.(shown),
    actsOfRow: (row) => now().actsOfRow?.(row) ?? [],
  };
}
