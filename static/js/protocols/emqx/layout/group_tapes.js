/**
 * Places the tapes of a group's streams below its nodes, and chooses which of their messages are in view.
 * Too many tapes are folded to strips. Numbers only, px.
 */

import { countsOfFold, isOver } from "../model/groups.js";
import { TALL_TAPES_MAX, TAPES_MAX } from "./group_plane.js";

/** Widest and narrowest message, px; number of messages shown before the first cursor. */
const WIDEST_PX = 18;
const NARROWEST_PX = 0.5;
const PAST = 5;
/** Duplicates among this number of newest messages stay in view. */
const HARM_SHOWN = 300;

/** @typedef {{tape: import("../model/groups.js").Tape, x0: number, x1: number, room: number, y: number, words: number, height: number, body: number, unit_px: number, beside: boolean, first: number}} TapeRow room: width right of x1, for its readers; words: height for its name above it; body: height of one of its strips; first: the offset at x0 */
/** @typedef {{fold: object, counts: string[], x: number, y: number, width: number, height: number}} StripRow */

/**
 * @param {import("../model/groups.js").Tape[]} tapes
 * @param {{width: number, scale: number, turned: boolean, top: number, compact?: boolean}} plane compact: labels of crashes are beside their lines
 * @returns {{rows: TapeRow[], tall: boolean, foot: number}}
 */
export function layTapes(tapes, { width, scale: k, turned, top, compact = false }) {
  const tall = tapes.length <= TALL_TAPES_MAX;
  const x0 = turned ? 0 : 168 * k;
  const x1 = turned ? width : width - 132 * k;
  const body = (tall ? (compact ? 10 : 12) : 7) * k;
  const needed = Math.max(20, ...tapes.map((tape) => tape.length - firstOf(tape) + 1));
  const unit_px = Math.max(NARROWEST_PX, Math.min(WIDEST_PX * k, (x1 - x0) / needed));
  let y = top;
  const rows = tapes.map((tape) => {
    const strips = 1 + Math.max(1, tape.readers.length);
    // its name, and two lines between for the names of cursors; the number of duplicates is above their bar
    const words = (turned ? (tall ? 62 : 22) : 0) + (tall && tape.duplicates.length ? 19 * k : 0);
    const height = words + strips * (body + 1) + (tall ? (isOver(tape) ? 16 : compact ? 22 : 38) * k : 10 * k);
    const room = (x1 - x0) / unit_px;
    const first = Math.max(0, Math.min(firstOf(tape), Math.max(0, tape.length - Math.floor(room))));
    const row = { tape, x0, x1, room: width - x1, y: y + words, words, height: height - words, body, unit_px, beside: compact, first: tape.length - firstOf(tape) > room ? firstOf(tape) : first };
    y += height;
    return row;
  });
  return { rows, tall, foot: y };
}

/** The first offset that is drawn: a few messages before the committed one, or before the oldest duplicate that is not too far back. */
function firstOf({ committed, duplicates, length, readers }) {
  const present = Math.min(committed, ...readers.map((one) => one.acknowledged));
  const harm = duplicates.find(([first]) => length - first <= HARM_SHOWN)?.[0] ?? present;
  return Math.max(0, Math.min(present, harm) - PAST);
}

/** @returns {number} x of an offset's left edge, limited to the tape */
export const xAt = ({ x0, x1, unit_px, first }, offset) => Math.min(x1, Math.max(x0, x0 + (offset - first) * unit_px));

/** @returns {boolean} whether the tapes must be folded to strips */
export const foldsNeeded = (tapes) => tapes.length > TAPES_MAX;

/**
 * @param {object[]} folds results of `foldsOf`
 * @param {{width: number, scale: number, turned: boolean, top: number, compact?: boolean}} plane compact: strips are lower
 * @returns {{strips: StripRow[], label: number, foot: number, cell: number}} label: width of a strip's name
 */
export function layStrips(folds, { width, scale: k, turned, top, compact = false }) {
  const many = folds.length > 24;
  const columns = many ? (turned ? 2 : 5) : 1;
  const pitch = (many ? 17 : compact ? 20 : 34) * k;
  const label = (many ? 46 : 92) * k;
  const gap = 14 * k;
  const column = (width - gap * (columns - 1)) / columns;
  const down = Math.ceil(folds.length / columns);
  const tail = many ? 0 : (turned ? 0 : 300) * k;
  const strips = folds.map((fold, at) => ({ fold, counts: countsOfFold(fold).map(([text]) => text), x: Math.floor(at / down) * (column + gap) + label, y: top + (at % down) * pitch, width: column - label - tail, height: (many || compact ? 11 : 18) * k }));
  const most = Math.max(1, ...folds.map((fold) => fold.tapes.length));
  return { strips, label, foot: top + down * pitch + 4 * k, cell: Math.min(22 * k, Math.max(1, (column - label - tail) / most)) };
}
