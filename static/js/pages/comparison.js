/** The comparison of strategies: its columns with picture, figures and curve, and one instant for all of them. */

import { causeWords } from "../protocols/light_table.js";
import { bytes, counted, seconds, whole } from "../model/format.js";
import { kindOf } from "../model/marks.js";
import { prepared } from "../render/canvas.js";
import { element, found, putParts, required, setText } from "../render/dom.js";
import { glyph, laneCell } from "../render/glyphs.js";
import { columnHeads, headCell } from "../render/terms.js";
import { ORIGINS, fontOf, readTheme, themeFor } from "../render/theme.js";
import { SPEEDS, atSpeed, clockUpTo, makeLoop, movedTo, paused, placeOfSpeed, played, settled, shown, speedText } from "../transport/clock.js";
import { blurClickedButtons, listenToKeys } from "../transport/keys.js";
import { makeRequests, untilDone } from "../wire/http.js";
import { keepToken } from "../wire/token.js";

/**
 * The model of a comparison: for each column the messages of one failover, and their state at any instant.
 * Pure. Instants are µs, -1 is never. The server's columns cover whole runs.
 */

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

/**
 * Draws one strategy's figure over the whole run, with the instant shown, the move and faults.
 * The figure is the forecast number of duplicates before the move, and their actual number after it.
 */

const EDGE = 2;
const HEIGHT_PX = 64;
const TOP_PX = 14;

/**
 * @param {{theme: import("../render/theme.js").Theme, width: number, ratio: number, at_us: number, end_us: number, highest: number}} given
 *   highest: the scale's end, the same in every column. Values after the instant are not drawn, so that the outcome stays hidden.
 */
export function paintCurve(canvas, column, given) {
  const { theme, width, ratio, at_us, end_us, highest } = given;
  const height = HEIGHT_PX * theme.scale;
  const context = prepared(canvas, width, height, ratio);
  const base = height - 4 * theme.scale;
  const xAt = (us) => EDGE + (us / Math.max(1, end_us)) * (width - 2 * EDGE);
  const yAt = (figure) => base - (figure / highest) * (base - TOP_PX * theme.scale);
  context.fillStyle = theme.ink.line;
  context.fillRect(EDGE, base, width - 2 * EDGE, 1);
  paintFaults(context, theme, column.followed, at_us, { xAt, base });
  const move_us = column.followed.at_us;
  stroke(context, theme.ink.harm, theme.thread, column, { from_us: 0, to_us: Math.min(at_us, move_us - 1), xAt, yAt });
  if (at_us >= move_us) {
    stroke(context, theme.ink.harm, theme.thread * 1.6, column, { from_us: move_us, to_us: at_us, xAt, yAt });
    const x = xAt(move_us);
    context.fillStyle = theme.ink.ink;
    context.fillRect(x - 0.5, 2, 1, base - 2);
    context.font = fontOf(theme);
    context.textBaseline = "top";
    context.textAlign = x > width / 2 ? "right" : "left";
    context.fillText("move", x + (x > width / 2 ? -4 : 4), 1);
  }
  context.fillStyle = theme.ink.ink;
  context.beginPath();
  context.arc(xAt(at_us), yAt(figureOf(figuresAt(column, at_us))), 3 * theme.scale, 0, 7);
  context.fill();
}

/** A step curve with one value per pixel. */
function stroke(context, colour, thickness, column, { from_us, to_us, xAt, yAt }) {
  if (to_us < from_us) return;
  const first = xAt(from_us);
  const last = xAt(to_us);
  const per_px = (to_us - from_us) / Math.max(1, last - first);
  context.strokeStyle = colour;
  context.lineWidth = thickness;
  context.beginPath();
  for (let x = first; ; x = Math.min(last, x + 1)) {
    const y = yAt(figureOf(figuresAt(column, from_us + (x - first) * per_px)));
    if (x === first) context.moveTo(x, y);
    else context.lineTo(x, y);
    if (x >= last) break;
  }
  context.stroke();
}

function paintFaults(context, theme, followed, at_us, { xAt, base }) {
  context.lineWidth = 1.4;
  for (const fault of followed.faults) {
    if (fault.at_us > at_us) continue;
    const heals = kindOf(fault.type) === "healing";
    context.strokeStyle = heals ? theme.ink.ink3 : theme.ink.harm;
    context.setLineDash([2, 2]);
    context.beginPath();
    context.moveTo(xAt(fault.at_us), TOP_PX);
    context.lineTo(xAt(fault.at_us), base);
    context.stroke();
  }
  context.setLineDash([]);
}

/**
 * Draws one strategy's picture: the source's messages above, the target's below, and the messages in flight between them.
 * Messages are in order of publishing. The rail below a strip marks the messages that its cluster counts as acknowledged. A message whose
 * acknowledgement is missing in the target will be a duplicate.
 */

const CELL_PX = 22;
const HEAD_PX = 18;
const BETWEEN_PX = 58;
/** Smaller on a phone, so that the three pictures are in view together. */
const BETWEEN_NARROW_PX = 30;
const FOOT_PX = 16;
/** Cells narrower than this are drawn without gaps, px. */
const GAP_FROM_PX = 4;
const WITH_CONSUMERS = "consumers connected here";

/** @returns {number} height of a picture, CSS px */
const lanesHeight = (theme, narrow) => (2 * (HEAD_PX + CELL_PX) + between(narrow) + FOOT_PX) * theme.scale;

const between = (narrow) => (narrow ? BETWEEN_NARROW_PX : BETWEEN_PX);

/**
 * @param {HTMLCanvasElement} canvas
 * @param {Column} column
 * @param {{theme: import("../render/theme.js").Theme, width: number, ratio: number, at_us: number, most: number, clusters: string[], narrow: boolean}} given
 *   most: number of messages that fit into the width, the same in every column
 */
export function paintLanes(canvas, column, given) {
  const { width, ratio, at_us, most, clusters, narrow } = given;
  const theme = themeFor(given.theme, clusters);
  const context = prepared(canvas, width, lanesHeight(theme, narrow), ratio);
  const { followed } = column;
  const size = theme.scale;
  const source = { base: HEAD_PX * size, name: followed.from, in_target: false };
  const target = { base: (2 * HEAD_PX + CELL_PX + between(narrow)) * size, name: followed.to, in_target: true };
  const step = (width - 2 * EDGE) / Math.max(1, most);
  const messages = followed.messages;
  const moved = at_us >= followed.at_us;
  for (const lane of [source, target]) {
    const free = writeName(context, theme, lane, moved);
    if (!messages) continue;
    paintStrip(context, theme, lane, messages, { at_us, step, moved, clusters });
    nameHole(context, theme, lane, messages, { at_us, step, free, width });
  }
  paintPassages(context, theme, column, { at_us, step, source, target, size, width });
}

function writeName(context, theme, lane, moved) {
  context.font = fontOf(theme, theme.label, 600);
  context.textBaseline = "alphabetic";
  context.textAlign = "left";
  context.fillStyle = theme.ink.ink;
  context.fillText(lane.name, EDGE, lane.base - 6 * theme.scale);
  const x = EDGE + context.measureText(lane.name).width + 8 * theme.scale;
  if (lane.in_target !== moved) return x;
  context.font = fontOf(theme);
  context.fillStyle = theme.ink.ink2;
  context.fillText(WITH_CONSUMERS, x, lane.base - 6 * theme.scale);
  return x + context.measureText(WITH_CONSUMERS).width + 8 * theme.scale;
}

/** Names the oldest unacked message before acked ones: the hole that holds back the mark-delete position. */
function nameHole(context, theme, lane, messages, { at_us, step, free, width }) {
  const at = holeAt(messages, at_us, lane.in_target);
  if (at < 0) return;
  const name = `${messages.producer[at]}/${messages.sequence_id[at]}`;
  context.font = fontOf(theme, theme.label, 600);
  const wide = context.measureText(name).width;
  const middle = EDGE + (at + 0.5) * step;
  const left = Math.min(width - EDGE - wide, Math.max(free, middle - wide / 2));
  if (left > middle || left + wide < middle) return; // no room over the cell itself
  context.fillStyle = theme.ink.ink;
  context.fillText(name, left, lane.base - 6 * theme.scale);
}

function paintStrip(context, theme, lane, messages, { at_us, step, moved, clusters }) {
  const size = theme.scale;
  const plane = { turned: false, cell: CELL_PX * size, scale: size };
  const gap = step >= GAP_FROM_PX ? 1 : 0;
  const rails = [];
  for (let at = 0; at < messages.stored_us.length; at++) {
    const state = cellAt(messages, at, at_us, lane.in_target);
    if (state === CELL.absent) continue;
    const from = EDGE + at * step;
    const length = Math.max(0.7, step - gap);
    const origin = Math.max(0, clusters.indexOf(messages.origin[at])) % ORIGINS;
    context.fillStyle = state === CELL.done ? theme.done[origin] : theme.origin[origin];
    laneCell(context, plane, lane, origin, from, 0, length, theme.ink.bg);
    const duplicate = lane.in_target ? duplicateAt(messages, at, at_us, moved) : "";
    const kind = duplicate || (state === CELL.done ? "rail" : "");
    const last = rails.at(-1);
    if (kind && last?.kind === kind && last.next === at) last.next = at + 1;
    else if (kind) rails.push({ kind, first: at, next: at + 1 });
  }
  for (const { kind, first, next } of rails) paintRail(context, theme, kind, EDGE + first * step, lane.base + (CELL_PX + 4) * size, (next - first) * step - gap);
}

function paintRail(context, theme, kind, from, top, length) {
  if (kind !== "rail") return paintDuplicate(context, theme, from, top, length, kind);
  context.fillStyle = theme.ink.ink;
  context.fillRect(from, top, length, theme.rail);
}

/** A double line: a forecast duplicate; a full bar: an actual duplicate. */
function paintDuplicate(context, theme, from, top, length, duplicate) {
  const line = theme.rail * 0.6;
  context.fillStyle = theme.ink.harm;
  if (duplicate === "has") context.fillRect(from, top - line / 2, length, line * 3.8);
  else {
    context.fillRect(from, top, length, line);
    context.fillRect(from, top + line * 2.4, length, line);
  }
}

function paintPassages(context, theme, column, { at_us, step, source, target, size, width }) {
  const top = source.base + (CELL_PX + 12) * size;
  const bottom = target.base - HEAD_PX * size - 2 * size;
  for (const { kind, from, left_us, way, lost } of passagesAt(column.followed, at_us)) {
    const down = from === source.name;
    const head = EDGE + reached(column.sorted.stored, left_us) * step + (down ? 0 : 8 * size);
    const x = Math.max(8 * size, Math.min(width - 8 * size, head));
    const y = down ? top + (bottom - top) * way : bottom - (bottom - top) * way;
    if (kind === "request") paintRequest(context, theme, x, y, top, size);
    else glyph(context, kind, x, y, 4.5 * size, theme.ink.proto, theme.ink.bg);
    if (lost) glyph(context, "cross", x, y, 3 * size, theme.ink.harm, theme.ink.bg);
  }
}

/** A request of acknowledgement-state sync in flight, drawn as a piece of rail. */
function paintRequest(context, theme, x, y, top, size) {
  context.strokeStyle = theme.ink.soft;
  context.lineWidth = theme.thread;
  context.beginPath();
  context.moveTo(x, top);
  context.lineTo(x, y);
  context.stroke();
  context.fillStyle = theme.ink.proto;
  context.fillRect(x - 6 * size, y - 2 * size, 12 * size, 4 * size);
}

/**
 * @param {{root: HTMLElement}} page
 * @param {Column} column
 * @param {{most: number, open: (column: object) => void}} given most: messages that fit into a picture's width
 */
export function makeColumn({ root }, column, { most, open }) {
  const section = required(root, `[data-column="${column.strategy}"]`);
  const [figure, words] = ["figure", "words"].map((name) => required(section, `[data-part=${name}]`));
  const [lanes, curve] = [required(section, "canvas[data-part=lanes]"), required(section, "canvas[data-part=curve]")];
  const number = required(figure, "b");
  const unit = required(figure, "span");
  const button = required(section, "[data-act=open]");
  const { from, to } = column.followed;
  const clusters = [...new Set([...column.followed.messages.origin, from, to])].sort();
  lanes.hidden = curve.hidden = false;
  section.classList.remove("missing");
  button.hidden = !column.text;
  button.onclick = () => open(column);

  return {
    paint(given) {
      const now = figuresAt(column, given.at_us);
      const duplicates = figureOf(now);
      setText(number, whole(duplicates));
      setText(unit, !now.moved ? "forecast duplicates" : now.open ? "duplicates at least, still delivering at the end" : "duplicates");
      figure.className = duplicates === 0 ? "figure" : "figure harm";
      const width = section.clientWidth;
      paintLanes(lanes, column, { ...given, width, most, clusters });
      if (curve.offsetParent) paintCurve(curve, column, { ...given, width });
    },
    write(at_us) {
      const sentence = wordsOf(column, at_us);
      setText(words, sentence);
      lanes.setAttribute("aria-label", `${column.title}: ${sentence}`);
    },
  };
}

/** A strategy without this failover: shows the reason in place of the picture. */
export function writeMissing({ root }, column, why) {
  const section = required(root, `[data-column="${column.strategy}"]`);
  setText(required(section, "[data-part=figure] b"), "–");
  setText(required(section, "[data-part=figure] span"), "no failover");
  setText(required(section, "[data-part=words]"), why);
  section.classList.add("missing");
  for (const name of ["lanes", "curve"]) required(section, `[data-part=${name}]`).hidden = true;
}

/** Describes the picture in a sentence or two. */
export function wordsOf(column, at_us) {
  const { from, to } = column.followed;
  const now = figuresAt(column, at_us);
  const known = `${counted(now.acknowledged, "message")} acknowledged, ${whole(now.replicated)} of them also in ${to}${now.moved ? " at the failover" : ""}.`;
  if (!now.moved) return `${known} A failover from ${from} now would deliver ${duplicatesIn(now)}.`;
  return `${known} Since the failover: ${duplicatesIn(now)}${now.redelivered ? `, ${whole(now.redelivered)} redelivered that had not been acknowledged` : ""}.`;
}

/** The sentence above the columns and the table below them: the same figures as text and as numbers, at the instant shown. */

/** What a move costs is marked as in a lab. */
const HARM = "harm-text";

export function makeNumbers({ document, root }, columns) {
  const table = required(root, "[data-part=table]");
  const sentence = required(root, "[data-part=sentence]");
  const causes = causesOf(columns);
  const { subscription, from, to, at_us: move_us } = columns[0].followed;
  const rows = [
    row("acknowledged", "", (now) => now.acknowledged),
    row(`acknowledged in ${to} too, up to the failover`, "", (now) => now.replicated),
    row("forecast duplicates of a move now", "", (now) => (now.moved ? null : now.forecast), HARM),
    row("duplicates", "strong", (now) => (now.moved ? (now.open ? figureWords(now) : figureOf(now)) : null), HARM),
    ...causes.map((cause) => row(causeWords(cause), "cause", (now) => (now.moved ? now.causes.get(cause) : null))),
    row("redelivered, not acknowledged before", "", (now) => (now.moved ? now.redelivered : null)),
    row("lost, in the whole run", "", (now, column) => (now.moved ? column.followed.messages.lost.filter(Boolean).length : null), HARM),
    row("markers in the logs, in the whole run", "", (now, column) => `${whole(column.costs.marker_entries)}, ${bytes(column.costs.marker_bytes)}`),
    ...(columns.some((column) => column.costs.requests) ? [row("requests, in the whole run", "", (now, column) => `${whole(column.costs.requests)}, ${bytes(column.costs.request_bytes)}`)] : []),
  ];
  const head = element(document, "tr", {}, [element(document, "td", {}), ...columnHeads(document, columns.map((column) => column.title))]);
  table.replaceChildren(element(document, "thead", {}, [head]), element(document, "tbody", {}, rows.map((one) => one.line)));

  /** @param {string} [mark] class of a cell whose value is not 0 */
  function row(words, kind, valueOf, mark = "") {
    const cells = columns.map(() => element(document, "td", {}));
    const line = element(document, kind ? `tr.${kind}` : "tr", {}, [headCell(document, "row", words), ...cells]);
    return { line, cells, valueOf, mark };
  }

  return {
    write(at_us) {
      const now = columns.map((column) => figuresAt(column, at_us));
      for (const { cells, valueOf, mark } of rows) {
        cells.forEach((cell, at) => {
          const value = valueOf(now[at], columns[at]);
          cell.className = value ? mark : "";
          setText(cell, value === null ? "–" : typeof value === "number" ? whole(value) : value);
        });
      }
      putParts(document, sentence, sentenceOf(now));
    },
  };

  function sentenceOf(now) {
    const begin = now[0].moved ? `Since the move to ${to} at ${seconds(move_us, 1)} s: ` : `If ${subscription} moved from ${from} to ${to} now: `;
    const of = now[0].moved ? ` of ${subscription}` : "";
    const mark = (one, text) => ({ [figureOf(one) === 0 && !one.open ? "strong" : "harm"]: text });
    const same = now.every((one) => figureWords(one) === figureWords(now[0]));
    const all = now.length === 2 ? ", in both" : ", in all";
    if (same) return [begin, mark(now[0], duplicatesIn(now[0])), `${of}${now.length > 1 ? all : ""}.`];
    const figures = now.flatMap((one, at) => [at === 0 ? "" : at === now.length - 1 ? " or " : ", ", mark(one, figureWords(one))]);
    return [begin, ...figures, ` duplicates${of}.`];
  }
}

/** The columns of a comparison and their table at one instant of the clock. */

/** With reduced motion the instant shown moves in steps of this many µs. */
const CALM_STEP_US = 500_000;
/** Shortest time between two updates of the texts during playback, ms. */
const WORDS_EVERY_MS = 250;
/** As in the stylesheet. */
const NARROW_PX = 800;

/**
 * @param {{document: Document, root: HTMLElement, window: import("../render/dom.js").PageWindow}} parts
 * @param {Column[]} columns
 * @param {ReturnType<makeSteering>} steering
 * @param {(column: object) => void} open
 */
export function makePicture(parts, columns, steering, open) {
  const { document, window } = parts;
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
  const most = Math.max(...columns.map((column) => column.total));
  const highest = highestFigure(columns);
  const views = columns.map((column) => makeColumn(parts, column, { most, open }));
  const numbers = makeNumbers(parts, columns);
  let theme = null;
  let words_ms = -Infinity;

  /** @returns {boolean} whether the clock is running */
  function paint(wall_ms) {
    const { at_us: exact_us, end_us, playing } = steering.at(wall_ms);
    const at_us = calm.matches && playing ? Math.floor(exact_us / CALM_STEP_US) * CALM_STEP_US : exact_us;
    theme ??= readTheme(window.getComputedStyle(document.documentElement));
    const narrow = document.documentElement.clientWidth < NARROW_PX;
    for (const view of views) view.paint({ theme, narrow, ratio: window.devicePixelRatio || 1, at_us, end_us, highest });
    steering.write(exact_us, at_us);
    if (!playing || wall_ms - words_ms >= WORDS_EVERY_MS) {
      words_ms = wall_ms;
      steering.say(at_us);
      for (const view of views) view.write(at_us);
      numbers.write(at_us);
    }
    return playing;
  }

  return {
    columns,
    paint,
    forget() {
      theme = null;
      words_ms = -Infinity;
    },
  };
}

/**
 * Controls a comparison: one clock of the page, and the controls that play, pause, step and scrub it and set its speed.
 * It does not depend on columns: `instants` are those that steps stop at, `changed` is called when the viewer moved the clock.
 */

/** The initial speed plays a whole run in at most this time. */
const LONGEST_PLAY_S = 30;
/** How far an arrow key on the time slider moves it, and how far with Shift. */
const NUDGE_US = 100_000;
const SHIFTED_NUDGE_US = 1_000_000;
const NUDGES = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };

/**
 * @param {{document: Document, window: import("../render/dom.js").PageWindow}} page
 * @param {{instants: () => number[], changed: () => void}} given
 */
export function makeSteering({ document, window }, { instants, changed }) {
  const now = () => window.performance.now();
  let clock = clockUpTo(1, 1);
  const bar = makeBar(document);

  function set(next) {
    clock = next;
    bar.writeSpeed(clock.speed);
    changed();
  }

  const seek = (at_us) => set(movedTo(clock, at_us, now()));
  const speedBy = (by) => set(atSpeed(clock, SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, placeOfSpeed(clock.speed) + by))], now()));

  function step(by) {
    const at_us = shown(clock, now());
    const to = by > 0 ? instants().find((instant) => instant > at_us) : instants().findLast((instant) => instant < at_us);
    set(movedTo(paused(clock, now()), to ?? (by > 0 ? clock.end_us : 0), now()));
  }

  function listen() {
    const playPause = () => set(clock.playing ? paused(clock, now()) : played(clock, now()));
    bar.listen({ playPause, seek, speed: (speed) => set(atSpeed(clock, speed, now())), nudge: (by_us) => seek(shown(clock, now()) + by_us) });
    const acts = { playPause, step: () => step(1), stepBack: () => step(-1), slower: () => speedBy(-1), faster: () => speedBy(1) };
    listenToKeys(document, acts, new window.AbortController().signal);
    blurClickedButtons(document, new window.AbortController().signal);
  }

  return {
    /** Shows the controls for a run of this length, at a speed that plays it in half a minute at most. */
    begin(until_us) {
      clock = clockUpTo(until_us, SPEEDS[placeOfSpeed(Math.max(1, until_us / 1e6 / LONGEST_PLAY_S))]);
      bar.begin(clock.speed);
      listen();
    },
    /** Sets the end of the clock. */
    endAt(end_us) {
      clock = { ...clock, end_us };
      bar.endAt(end_us);
    },
    /** The clock at an instant of the wall clock: {at_us, end_us, playing, speed}. */
    at(wall_ms) {
      clock = settled(clock, wall_ms);
      return { at_us: shown(clock, wall_ms), end_us: clock.end_us, playing: clock.playing, speed: clock.speed };
    },
    /** Updates the controls; `at_us` is the instant that the pictures show. */
    write: (exact_us, at_us) => bar.write(clock, exact_us, at_us),
    /** Updates the text for screen readers: seldom, since it is read aloud. */
    say: bar.say,
    seek: (at_us) => set(movedTo(paused(clock, now()), at_us, now())),
  };
}

/** The controls: the play button, the speed, the time slider and the instant as text. */
function makeBar(document) {
  const steering = required(document, "[data-part=steering]");
  const scrub = required(document, "input[data-part=scrub]");
  const clock_words = required(document, "[data-part=clock]");
  const speed_choice = required(document, "select[data-part=speed]");
  const play_button = required(document, "button[data-act=play]");

  return {
    listen({ playPause, seek, speed, nudge }) {
      play_button.addEventListener("click", playPause);
      speed_choice.addEventListener("change", () => speed(Number(speed_choice.value)));
      scrub.addEventListener("input", () => seek(Number(scrub.value)));
      scrub.addEventListener("keydown", (event) => {
        const by = NUDGES[event.key];
        if (by === undefined) return;
        event.preventDefault();
        nudge(by * (event.shiftKey ? SHIFTED_NUDGE_US : NUDGE_US));
      });
    },
    begin(speed) {
      speed_choice.replaceChildren(...SPEEDS.map((one) => element(document, "option", { value: one, text: speedText(one) })));
      speed_choice.value = String(speed);
      steering.hidden = false;
    },
    endAt(end_us) {
      scrub.max = String(Math.round(end_us));
    },
    writeSpeed(speed) {
      speed_choice.value = String(speed);
    },
    write(clock, exact_us, at_us) {
      setText(play_button, clock.playing ? "Pause" : exact_us >= clock.end_us ? "Again" : "Play");
      setText(clock_words, `${seconds(at_us)} s`);
      scrub.value = String(Math.round(exact_us));
    },
    say: (at_us) => scrub.setAttribute("aria-valuetext", `${seconds(at_us)} seconds`),
  };
}

/**
 * The page of a comparison: plays the runs of a scenario on one clock, under every strategy, or on real brokers and simulated.
 * The server runs each column once. This module connects the parts; the model computes the state at an instant.
 */

/** The clock ends after the last event in a picture, this factor later. */
const AFTER = 1.05;
const LOOKS = ["(prefers-color-scheme: dark)", "(prefers-reduced-motion: reduce)"];

/** @param {{document: Document, root: HTMLElement, window: import("../render/dom.js").PageWindow, fetcher: typeof fetch}} page */
export function openComparison({ document, root, window, fetcher }) {
  const requests = makeRequests(fetcher, "");
  const parts = { document, root, window, requests };
  const status = required(document, "[data-part=status]");
  const now = () => window.performance.now();
  let picture = null;
  const loop = makeLoop({ request: (run) => window.requestAnimationFrame(run), now, tick: (wall_ms) => picture?.paint(wall_ms) ?? false });
  const steering = makeSteering(parts, { instants: () => (picture ? stepsOf(picture.columns) : []), changed });
  untilDone(
    () => requests.get(root.dataset.address),
    window,
    (words) => setText(status, words),
  )
    .then(begin)
    .catch(say);

  function begin(answer) {
    const moves = answer.columns.reduce((most, column) => (column.followed.length > most.length ? column.followed : most), []);
    if (!moves.length) return say(new Error("This run has no failover, so there is nothing to compare. A scenario needs a subscription.fail-over."));
    offerMoves(document, moves, (place) => choose(answer, place));
    steering.begin(answer.columns[0].until_us);
    new window.ResizeObserver(changed).observe(root);
    for (const query of LOOKS) window.matchMedia(query).addEventListener("change", changed);
    choose(answer, 0);
    setText(status, "");
  }

  function choose(answer, place) {
    const columns = columnsOf(answer, place);
    for (const column of answer.columns.filter((one) => !one.followed[place])) writeMissing(parts, column, missingWords(column));
    if (columns.some((column) => !column.followed.messages)) return say(new Error("The run has too many messages to draw; the command below counts it."));
    picture = makePicture(parts, columns, steering, (column) => openRun(parts, column.text, steering.at(now()).at_us).catch(say));
    steering.endAt(endOf(columns, answer.columns[0].until_us));
    changed();
  }

  /** After a choice or a resize: redraws everything, including the texts. */
  function changed() {
    picture?.forget();
    loop.wake();
  }

  function say(reason) {
    const failure = required(document, "[data-part=failure]");
    setText(status, "");
    failure.textContent = `${reason.message} ${reason.hint ?? ""}`.trim();
    failure.hidden = false;
  }

  return {
    /** For tests: the state shown. */
    getState: () => ({ ...steering.at(now()), columns: picture?.columns ?? [] }),
    seek: steering.seek,
    times_ms: loop.times_ms,
  };
}

/** The list of failovers, when there are several: the chosen one is compared. */
function offerMoves(document, moves, choose) {
  const chooser = required(document, "select[data-part=failover]");
  chooser.replaceChildren(...moves.map((move, at) => element(document, "option", { value: at, text: `${at + 1}: ${move.subscription} from ${move.from} to ${move.to} at ${seconds(move.at_us, 1)} s` })));
  required(document, "[data-part=chooser]").hidden = moves.length < 2;
  chooser.addEventListener("change", () => choose(Number(chooser.value)));
}

/** Opens a column's run as a new lab of the visitor, at this instant. */
async function openRun({ root, window, requests }, yaml, at_us) {
  const made = await requests.post(root.dataset.create, { yaml, at_us: Math.round(at_us) });
  keepToken(made.id, made.token, window);
  window.location.assign(`${made.url}#token=${made.token}`);
}

/** End of the clock: when the last picture stops changing or the window closes, so that it does not run through an hour without events. */
function endOf(columns, until_us) {
  const last = Math.max(...columns.flatMap(({ followed, sorted }) => [followed.at_us, ...[sorted.stored, sorted.acknowledged, sorted.replicated, sorted.duplicates].map((list) => list.at(-1) ?? 0)]));
  return Math.min(until_us, last * AFTER);
}

const root = globalThis.document && found(document, "[data-comparison]"); // Node\'s tests have no document
if (root) globalThis.failoverComparison = openComparison({ document, root, window, fetcher: (address, options) => fetch(address, options) });
