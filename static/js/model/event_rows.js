/**
 * Groups the rows of the event list: rows that a protocol assigns to one thing, such as a snapshot, are listed together under its heading.
 * The group with the newest row comes first. Rows without a group stay where their time puts them.
 */

import { commandWords } from "./commands.js";
import { span } from "./format.js";
import { PROTOCOLS } from "../protocols/table.js";

/**
 * Folds repeated rows of a list: rows that their protocol declares as repetitions become one line with a count.
 */

const repeatOf = (row) => PROTOCOLS.map((protocol) => protocol.repeatOf?.(row)).find(Boolean);

/** How many lines back a repetition is searched; rows of other clusters may be in between. */
const LOOKED_BACK = 4;

/**
 * @param {object[]} rows by ascending seq
 * @returns {{row: object, times: number}[]} in ascending order; repeated rows are represented by the newest one
 */
export function foldedRuns(rows) {
  const lines = [];
  for (const row of rows) {
    const key = repeatOf(row);
    const full_key = key ? `${row.type}|${key}` : null;
    const at = full_key === null ? -1 : lines.findLastIndex((line, index) => index >= lines.length - LOOKED_BACK && line.key === full_key);
    if (at >= 0) {
      const [line] = lines.splice(at, 1);
      lines.push({ row, times: line.times + 1, key: full_key });
    } else lines.push({ row, times: 1, key: full_key });
  }
  return lines;
}

/** @typedef {{key: string | null, lines: {row: any, times: number}[]}} EventGroup lines newest first; key null: rows without a group */

const groupOf = (row) => PROTOCOLS.map((protocol) => protocol.groupOfRow?.(row)).find(Boolean) ?? null;

/**
 * @param {object[]} rows by ascending seq
 * @param {number} most lines, headings included
 * @param {boolean} newest whether the newest lines are kept, or else the oldest
 * @returns {EventGroup[]} the group with the newest row first
 */
export function groupedRows(rows, most, newest) {
  /** @type {Map<string, object[]>} */
  const members = new Map();
  for (const row of rows) {
    const key = groupOf(row);
    if (key === null) continue;
    if (members.has(key)) members.get(key).push(row);
    else members.set(key, [row]);
  }
  /** @type {{key: string | null, rows: object[]}[]} */
  const groups = []; // by ascending seq of the newest row
  for (const row of rows) {
    const key = groupOf(row);
    if (key === null) {
      if (groups.at(-1)?.key === null) groups.at(-1).rows.push(row);
      else groups.push({ key, rows: [row] });
    } else if (members.get(key).at(-1) === row) groups.push({ key, rows: members.get(key) });
  }
  const folded = groups.map((group) => ({ key: group.key, lines: foldedRuns(group.rows).reverse() })).reverse();
  return newest ? cut(folded, most) : cut(folded.reverse(), most).reverse();
}

/** The first groups that have at most so many lines together. */
function cut(groups, most) {
  let left = most;
  const kept = [];
  for (const { key, lines } of groups) {
    const room = left - (key === null ? 0 : 1);
    if (room <= 0) break;
    kept.push({ key, lines: lines.slice(0, room) });
    left = room - lines.length;
  }
  return kept;
}

/**
 * Describes a row of each event type as one line of parts: plain text and {strong} or {harm}.
 * Each protocol contributes the lines of its own events; those of events that several protocols write are here. A type without a line
 * falls back to its name and subjects. tests/js/test_tables.py asserts that every event has a line.
 */

const b = (text) => ({ strong: String(text) });
const h = (text) => ({ harm: String(text) });
const at = (row) => `${row.ledger}:${row.entry}`;
const message = (row) => b(`${row.producer}/${row.sequence_id}`);

function appliedWords(row, state) {
  const { does, to } = commandWords(state, row.reason, JSON.parse(row.detail ?? "{}"));
  return [h(does), to ? `: ${to}` : ""];
}

/** @type {Object<string, (row: object, state: import("./state.js").LabState, later?: object[]) => Array<string | object>>} */
export const ROW_WORDS = Object.assign(
  {
    "run.started": (row) => ["run started: ", row.detail ?? ""],
    "command.applied": appliedWords,
    "command.refused": (row) => [b(row.reason), ` refused: ${row.detail ?? ""}`],
    "link.cut": (row) => [h(`link ${row.cluster} → ${row.peer} cut`)],
    "link.healed": (row) => [`link ${row.cluster} → ${row.peer} healed`],
    "link.slowed": (row) => [h(`link ${row.cluster} → ${row.peer} slowed to ${span(row.duration_us)}`)],
    "message.published": (row) => [message(row), row.cluster === undefined ? ` published to ${row.topic}` : ` published in ${row.cluster}`],
    "message.stored": (row) => [message(row), row.cluster === undefined ? ` stored in ${row.topic} at ${row.entry}` : ` stored at ${at(row)} in ${row.cluster}`],
    "message.delivered": (row) => [message(row), ` delivered to ${row.client} in ${row.cluster}`],
    "message.acknowledged": (row) => [message(row), ` acknowledged by ${row.client}`],
    "client.changed": (row) => [b(row.client), ` ${row.reason} in ${row.cluster}`],
    "check.violated": (row) => [h(`check violated: ${row.reason}`), ` ${row.detail ?? ""}`],
  },
  ...PROTOCOLS.map(({ rows }) => rows),
);

/**
 * @param {object} row
 * @param {import("./state.js").LabState} state of the row's lab
 * @param {object[]} [later] rows after the instant shown that the row may refer to
 * @returns {Array<string | object>} the row's line
 */
export function wordsOfRow(row, state, later) {
  const words = ROW_WORDS[row.type];
  if (words) return words(row, state, later);
  const subjects = [row.cluster, row.peer, row.subscription, row.client].filter(Boolean).join(" ");
  return [b(row.type.replace(/[.-]/g, " ")), ` ${subjects}`, row.producer === undefined ? "" : ` ${row.producer}/${row.sequence_id}`];
}

/** @returns {string} the row's line as plain text, for titles and screen readers */
export const plainWordsOf = (row, state) => wordsOfRow(row, state).map((part) => (typeof part === "string" ? part : (part.strong ?? part.harm ?? part.soft ?? ""))).join("");

/**
 * The glyph before a row: the protocol's own, or else a cross for harm and a dot for anything else.
 * @returns {any} a kind of `glyph`
 */
export function glyphOfRow(row) {
  for (const protocol of PROTOCOLS) {
    const glyph = protocol.glyphOfRow?.(row);
    if (glyph) return glyph;
  }
  return /crashed|lost|cut|failover\.started|violated|timed-out/.test(row.type) ? "cross" : "dot";
}

/** @returns {boolean} whether a row about a message is also listed among the protocol events */
export const isProtocolMessage = (row) => PROTOCOLS.some((protocol) => protocol.isProtocolMessage?.(row) ?? false);

/** @returns {boolean} whether another row reports the same, so that the list of protocol events leaves this one out */
export const isDetail = (row) => PROTOCOLS.some((protocol) => protocol.isDetail?.(row) ?? false);
