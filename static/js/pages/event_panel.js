/** The list of events: rows of data that frames do not contain, and the chain of causes under a chosen row. */

import { allOf, found } from "../render/dom.js";
import { causeNodes } from "../render/because.js";
import { makeEvents } from "../render/events.js";
import { wordsOfRow as wordsInList } from "../model/row_words.js";
import { makeEventWindow } from "../model/event_window.js";
import { protocolOf } from "../protocols/table.js";
import { required } from "../render/dom.js";

/** Number of data rows requested at once for the tabs that show messages. */
const FETCHED = 400;
const NONE = [];

/** Texts of the list: a line need not name the thing that the heading above it names. */
const wordsOfList = (getState) => ({
  wordsOfRow: (row, later) => wordsInList(row, { ...getState(), under_heading: true }, later),
  wordsOfGroup: (key, later) => protocolOf(getState()).wordsOfGroup?.(key, getState(), later) ?? [],
});

export function makeEventPanel({ document, root, link, requests, base, getState, say, actsOfRow, wordsOfRow, lights, wake }) {
  const list = makeEvents(document, root, { onChoose: choose, onFilter: wake, ...wordsOfList(getState) });
  const box = required(root, "[data-part=events]");
  const window_of = makeEventWindow({ get: requests.get, base, onAnswer: wake });
  let data = { seq: -1, rows: [], asking: false };

  /** Opens a row: the diagram seeks to its instant, the list shows its causes. */
  async function choose(row) {
    if (list.chosen() === row.seq) {
      list.open(null, null);
      lights.clear();
      return;
    }
    lights.row(row.seq);
    try {
      const owner = getState().welcome?.owner === true;
      if (owner && getState().playing) link.pause();
      if (owner) link.seekSeq(row.seq); // a viewer cannot seek: only the causes are shown
      const answer = await requests.get(`${base}row/${row.seq}.json`);
      list.open(row.seq, causeNodes(document, answer, wordsOfRow, actsOfRow(answer.row ?? answer)));
    } catch (reason) {
      say({ error: reason.message, hint: reason.hint });
    }
  }

  /** Frames contain control rows only. The other tabs request the newest data rows when the lab is paused. */
  async function fetchData(seq) {
    data = { ...data, asking: true };
    try {
      const answer = await requests.get(`${base}rows.json?first=${Math.max(0, seq - FETCHED)}&last=${seq}&control=0&limit=${FETCHED}`);
      data = { seq, rows: answer.rows, asking: false };
    } catch (reason) {
      data = { seq, rows: [], asking: false };
      say({ error: reason.message, hint: reason.hint });
    }
    wake();
  }

  function move(by) {
    const buttons = allOf(box, "button.event");
    if (buttons.length === 0) return;
    const at = buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    buttons[Math.max(0, Math.min(buttons.length - 1, at + by))].focus();
  }

  return {
    show: list.show,
    acts: { olderEvent: () => move(1), newerEvent: () => move(-1), toEvents: () => (found(box, "button.event") ?? box).focus() },
    update(state, theme, ratio, wall_ms) {
      const seq = state.view.seq;
      const protocol = list.filter() === "protocol";
      if (!protocol && !state.playing && data.seq !== seq && !data.asking) fetchData(seq);
      const owed = list.update(protocol ? window_of.of(state, wall_ms) : { rows: data.rows, ahead: NONE }, state.epoch, theme, ratio, wall_ms);
      list.light(lights.now()?.seqs ?? null);
      return owed;
    },
  };
}
