/**
 * The model of a comparison: for each column the messages of one failover, and their state at any instant.
 * Pure. Instants are µs, -1 is never. The server's columns cover whole runs.
 */

import { whole } from "./format.js";

/** States of a message's cell; the larger one replaces the smaller one. */
export const CELL = { absent: 0, there: 1, done: 2 };

/**
 * @typedef {object} Column one run
 * @property {string} strategy its key: a strategy, `real` or `simulated`
 * @property {string} title
 * @property {string} says
 * @property {string} [text] the run's scenario, as YAML
 * @property {any} followed the server's data about the failover
 * @property {number} total messages
 * @property {Object<string, number[]>} sorted instants in ascending order: stored, acknowledged, replicated, forecast and cleared (a message becomes a forecast duplicate, and is none any more), duplicates, redelivered
 * @property {boolean} open whether the run ended while the failover's messages were still delivered again
 * @property {Map<string, number[]>} causes by cause the instants of its duplicates, ascending
 */

/** @returns {Column[]} columns of the failover with this index, for the runs in which it happened */
export function columnsOf(answer, place) {
  return answer.columns.filter((column) => column.followed[place]).map((column) => columnOf(column, column.followed[place], column.failovers[place]));
}

/** Why a strategy has no such failover: the command that was refused. */
export function missingWords(column) {
  const refused = column.commands.find((command) => !command.ok);
  return `No failover under this strategy.${refused ? ` ${refused.command} was refused: ${refused.error}.` : ""}`;
}

function columnOf(column, followed, failover) {
  const messages = followed.messages ?? nothing();
  const { acknowledged_us, known_us, stored_us, forecast_us, delivered_us, delivery, cause } = messages;
  const causes = new Map(Object.keys(column.failovers[0]?.by_cause ?? {}).map((name) => [name, []]));
  const sorted = { stored: inOrder(stored_us), acknowledged: inOrder(acknowledged_us), replicated: [], forecast: inOrder(forecast_us), cleared: [], duplicates: [], redelivered: [] };
  for (let at = 0; at < acknowledged_us.length; at++) {
    if (acknowledged_us[at] >= 0 && known_us[at] >= 0) sorted.replicated.push(Math.max(acknowledged_us[at], known_us[at]));
    if (forecast_us[at] >= 0 && known_us[at] >= 0) sorted.cleared.push(known_us[at]);
    if (delivery[at] === "duplicate") {
      sorted.duplicates.push(delivered_us[at]);
      causes.get(cause[at])?.push(delivered_us[at]);
    }
    if (delivery[at] === "redelivered") sorted.redelivered.push(delivered_us[at]);
  }
  for (const list of [sorted.replicated, sorted.cleared, sorted.duplicates, sorted.redelivered, ...causes.values()]) list.sort((a, b) => a - b);
  return { strategy: column.strategy, title: column.title, says: column.says, text: column.text, costs: column.costs, followed, open: failover?.pending_repeats > 0, total: stored_us.length, sorted, causes };
}

const nothing = () => ({ stored_us: [], at_source_us: [], at_target_us: [], acknowledged_us: [], known_us: [], forecast_us: [], delivered_us: [], delivery: [], cause: [], lost: [], origin: [] });

const inOrder = (instants) => instants.filter((at_us) => at_us >= 0).sort((a, b) => a - b);

/** @returns {number} how many of the sorted instants are at or before `at_us` */
export function reached(sorted, at_us) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= at_us) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The figures at an instant: counts of messages, and duplicates by cause so far. */
export function figuresAt(column, at_us) {
  const { sorted } = column;
  const acknowledged = reached(sorted.acknowledged, at_us);
  const move_us = column.followed.at_us;
  const replicated = reached(sorted.replicated, Math.min(at_us, move_us)); // after the move the target's own consumers acknowledge
  return {
    moved: at_us >= move_us,
    stored: reached(sorted.stored, at_us),
    acknowledged,
    replicated,
    forecast: reached(sorted.forecast, at_us) - reached(sorted.cleared, at_us),
    duplicates: reached(sorted.duplicates, at_us),
    redelivered: reached(sorted.redelivered, at_us),
    open: column.open && at_us >= Math.max(move_us, sorted.duplicates.at(-1) ?? 0), // no more are counted, although more would be delivered
    causes: new Map([...column.causes].map(([name, instants]) => [name, reached(instants, at_us)])),
  };
}

/** The headline number: how many duplicates a move would cause now; after the move, how many it has caused. Lanes, curve and table use it, too. */
export const figureOf = (now) => (now.moved ? now.duplicates : now.forecast);

/** @returns {string} the headline number; "at least" where the run ended too early, "no" for zero */
export const figureWords = (now) => (now.open ? `at least ${whole(figureOf(now))}` : figureOf(now) === 0 ? "no" : whole(figureOf(now)));

/** @returns {string} the headline number with its noun */
export const duplicatesIn = (now) => `${figureWords(now)} ${figureOf(now) === 1 ? "duplicate" : "duplicates"}`;

/** Causes with at least one duplicate in any column, in the order in which they are decided. */
export function causesOf(columns) {
  const names = [...columns[0].causes.keys()];
  return names.filter((name) => columns.some((column) => column.causes.get(name)?.length));
}

/** Largest value of the headline number in any column, so that all columns use one scale. */
export function highestFigure(columns) {
  let most = 1;
  for (const column of columns) for (const at_us of [column.followed.at_us - 1, Number.MAX_SAFE_INTEGER]) most = Math.max(most, figureOf(figuresAt(column, at_us)));
  for (const column of columns) for (const at_us of column.sorted.forecast) if (at_us < column.followed.at_us) most = Math.max(most, figuresAt(column, at_us).forecast);
  return most;
}

/** State of a message's cell in the log of the source or of the target. */
export function cellAt(messages, at, at_us, in_target) {
  const arrived_us = in_target ? messages.at_target_us[at] : messages.at_source_us[at];
  if (arrived_us < 0 || arrived_us > at_us) return CELL.absent;
  const acknowledged = by(messages.acknowledged_us[at], at_us);
  if (!in_target) return acknowledged ? CELL.done : CELL.there;
  return acknowledged && (by(messages.known_us[at], at_us) || by(messages.delivered_us[at], at_us)) ? CELL.done : CELL.there;
}

const by = (instant_us, at_us) => instant_us >= 0 && instant_us <= at_us;

/** @returns {"" | "would" | "has"} whether a message would become a duplicate in the target, or is one */
export function duplicateAt(messages, at, at_us, moved) {
  if (messages.delivery[at] === "duplicate" && by(messages.delivered_us[at], at_us)) return "has";
  if (moved) return messages.delivery[at] === "duplicate" && by(messages.at_target_us[at], at_us) ? "would" : "";
  return by(messages.forecast_us[at], at_us) && !by(messages.known_us[at], at_us) ? "would" : "";
}

/** Widest gap, in messages, that counts as a hole. Wider gaps have other reasons. */
const HOLE_MOST = 3;

/** @returns {number} index of the oldest unacked message in a small gap between acked messages, -1 for none */
export function holeAt(messages, at_us, in_target) {
  let hole = -1;
  let wide = 0;
  for (let at = 0; at < messages.stored_us.length && messages.stored_us[at] <= at_us; at++) {
    const state = cellAt(messages, at, at_us, in_target);
    if (state === CELL.done && wide > 0 && wide <= HOLE_MOST) return hole;
    if (state === CELL.done) wide = 0;
    if (state === CELL.there && wide++ === 0) hole = at;
  }
  return -1;
}

/** Messages in flight between the clusters: kind, from, way (0 to 1), lost. One that never arrives is shown near its sender. */
export function passagesAt(followed, at_us) {
  const found = [];
  for (const passage of followed.passages) {
    if (passage.left_us > at_us || (passage.arrived_us !== null && passage.arrived_us < at_us)) continue;
    const way = passage.arrived_us === null ? 0.08 : (at_us - passage.left_us) / Math.max(1, passage.arrived_us - passage.left_us);
    found.push({ kind: passage.kind, from: passage.from, left_us: passage.left_us, way, lost: passage.lost });
  }
  return found;
}

/** Instants to step to: the failover, faults, and departures and arrivals of messages. Ascending, without repetitions. */
export function stepsOf(columns) {
  const found = columns.flatMap(({ followed }) => [
    followed.at_us,
    ...followed.faults.map((fault) => fault.at_us),
    ...followed.passages.flatMap((passage) => [passage.left_us, ...(passage.arrived_us === null ? [] : [passage.arrived_us])]),
  ]);
  return [...new Set(found)].sort((a, b) => a - b);
}
