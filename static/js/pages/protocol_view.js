/**
 * The part of the lab page that a protocol fills: its main picture and what hangs on it. Every protocol's is made with the page, since
 * its buttons are in it; the one of the lab's protocol is shown.
 *
 * @typedef {object} Tools what a protocol's view is given
 * @property {Document} document
 * @property {HTMLElement} root
 * @property {ReturnType<import("../transport/lab_link.js").makeLabLink>} link play, seek, seekSeq, command
 * @property {ReturnType<import("../wire/http.js").makeRequests>} requests
 * @property {string} base path of the lab, ending in "/"
 * @property {() => any} getState the LabState, with what the protocol folds from frames
 * @property {() => object} getWatched
 * @property {(wish: object) => void} choose what to watch
 * @property {() => void} wake requests one more drawing
 * @property {() => void} redraw requests that everything is drawn again
 * @property {(notice: {error: string, hint?: string, tone?: string}) => void} say
 * @property {(producer: string, number: number) => void} follow steps along one message
 * @property {(row: object) => Array<string | object>} wordsOfRow
 * @property {ReturnType<import("./lights.js").makeLights>} lights
 * @property {ReturnType<import("../render/inspector.js").makeInspector>} inspector
 * @property {ReturnType<import("./faults.js").makeFaults>["menus"]} menus
 * @property {() => object | undefined} plotly
 */
/**
 * @typedef {object} ProtocolView
 * @property {Object<string, () => void>} acts what keys do to the main picture
 * @property {Object<string, () => void>} [time_acts] what keys do to the time diagram, where the protocol has one
 * @property {(theme: object, watched: object) => object} [themeOf] the page's theme with the hues of what is watched
 * @property {(state: object, watched: object, theme: object, ratio: number) => boolean} [updateAbove] what stands above the picture; true when its height changed
 * @property {(state: object, watched: object, theme: object, ratio: number, room: number, lit: object | null) => void} update draws what stands
 * @property {(state: object, watched: object, theme: object, at_us: number, ratio: number) => boolean} animate draws what moves; true while anything does
 * @property {(state: object, watched: object, theme: object, given: object) => boolean} [updateTime] the time diagram; true when a drawing is owed
 * @property {(state: object, watched: object, theme: object, ratio: number, width: number) => void} updateSide the tables beside the picture
 * @property {() => void} redraw
 * @property {(state: object) => object[]} [older] messages for the reducer: what the picture needs and has fetched
 * @property {() => void} [forgetBranch] drops what was fetched of another branch
 * @property {() => void} failOver
 * @property {(look: object) => void} look shows what a menu's item names in the inspector
 * @property {(row: object) => {says: string, act: () => void}[]} [actsOfRow] what can be done with a row of the list
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
    updateTime: (...given) => now().updateTime?.(...given) ?? false,
    /** @type {ProtocolView["updateSide"]} */
    updateSide: (...given) => now().updateSide(...given),
    redraw: () => views.forEach((view) => view.redraw()),
    older: (state) => now()?.older?.(state) ?? [],
    forgetBranch: () => views.forEach((view) => view.forgetBranch?.()),
    failOver: () => now()?.failOver(),
    look: (look) => now().look(look),
    actsOfRow: (row) => now().actsOfRow?.(row) ?? [],
  };
}
