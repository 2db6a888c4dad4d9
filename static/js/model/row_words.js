/**
 * Describes a row of each event type as one line of parts: plain text and {strong} or {harm}.
 * Each protocol contributes the lines of its own events; those of events that several protocols write are here. A type without a line
 * falls back to its name and subjects. tests/js/test_tables.py asserts that every event has a line.
 */

import { PROTOCOLS } from "../protocols/table.js";
import { commandWords } from "./command_words.js";
import { span } from "./format.js";

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
