/** Highlights the causal cone of a clicked row, message or marker: requested once, shown until Esc or another click. */

import { counted } from "../model/format.js";
import { plainWordsOf } from "../model/event_rows.js";
import { PROTOCOLS } from "../protocols/table.js";
import { required, setText } from "../render/dom.js";

/**
 * A causal cone prepared for highlighting: the rows, markers, snapshots and entries in it, and its cause-effect pairs.
 * It is computed once per click from the server's answer. Lanes, diagram and list only look things up in it.
 */

/** Types of rows that contain an entry's position. */
const PLACES = new Set(["message.stored", ...PROTOCOLS.flatMap(({ entry_rows }) => entry_rows ?? [])]);

/**
 * @typedef {object} Lit
 * @property {object} row the clicked row
 * @property {Set<number>} seqs rows of the cone, the clicked one included
 * @property {number} back number of rows that led to it
 * @property {number} forward number of rows that followed from it
 * @property {boolean} more whether the cone has further rows that were not requested
 * @property {Set<number>} markers
 * @property {Set<number>} snapshots
 * @property {Object<string, string[]>} entries "ledger:entry" by "cluster/topic"
 * @property {{from: {cluster: string, at_us: number}, to: {cluster: string, at_us: number}, back: boolean}[]} edges
 */

/**
 * @param {{row: object, back: object[], forward: object[], more: boolean}} answer of `/labs/<id>/cone.json`
 * @returns {Lit}
 */
export function litOf({ row, back, forward, more }) {
  const rows = new Map([...back, row, ...forward].map((one) => [one.seq, one]));
  const lit = { row, seqs: new Set(rows.keys()), back: back.length, forward: forward.length, more, markers: new Set(), snapshots: new Set(), entries: {}, edges: [] };
  for (const one of rows.values()) {
    if (one.marker !== undefined) lit.markers.add(one.marker);
    if (one.snapshot !== undefined) lit.snapshots.add(one.snapshot);
    if (PLACES.has(one.type) && one.entry !== undefined) (lit.entries[`${one.cluster}/${one.topic}`] ??= []).push(`${one.ledger}:${one.entry}`);
    const cause = rows.get(one.cause_seq);
    if (cause?.cluster && one.cluster) lit.edges.push({ from: cause, to: one, back: one.seq <= row.seq });
  }
  return lit;
}

export function makeLights({ root, requests, base, getState, say, redraw }) {
  const strip = required(root, "[data-part=lit]");
  const words = required(strip, "[data-part=lit-words]");
  let lit = null;
  let shown = null; // what was asked for
  let branch = null;
  let asked = 0;
  required(strip, "[data-act=lit-clear]").addEventListener("click", clear);

  async function light(query, subject) {
    const own = ++asked;
    shown = subject;
    try {
      const answer = await requests.get(`${base}cone.json?${query}`);
      if (own !== asked) return;
      lit = litOf(answer);
      branch = getState().view.branch;
      show();
    } catch (reason) {
      if (own === asked) say({ error: reason.message, hint: reason.hint });
    }
  }

  function show() {
    strip.hidden = lit === null;
    if (lit) setText(words, `${plainWordsOf(lit.row, getState())}: caused by ${counted(lit.back, "event")}, led to ${counted(lit.forward, "event")}${lit.more ? " or more" : ""}.`);
    redraw();
  }

  function clear() {
    asked += 1;
    shown = null;
    if (lit === null) return false;
    lit = null;
    show();
    return true;
  }

  return {
    /** @returns {Lit | null} */
    now() {
      if (lit !== null && getState().view?.branch !== branch) clear(); // another branch has another past
      return lit;
    },
    /** The row, marker or message whose causes and effects are highlighted. @returns {import("./presenting.js").Shown["lit"]} */
    shown: () => shown,
    row: (seq) => light(`seq=${seq}`, { seq }),
    marker: (number) => light(`marker=${number}`, { marker: number }),
    message: (producer, number) => light(`producer=${encodeURIComponent(producer)}&number=${number}`, { message: [producer, number] }),
    clear,
  };
}
