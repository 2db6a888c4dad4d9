/**
 * Draws the vertical lines of the diagram of messages: leaders and sessions with their lifetimes.
 * Beside a session's line are the two deadlines (left: until its leader drops it, and until it stops reading) and its leases (right).
 */

import { deadlinesOf, leaderLine, overlapsOf, sessionLine } from "../model/node_messages.js";
import { glyph } from "../../../render/glyphs.js";
import { fontOf } from "../../../render/theme.js";

/** Distances from a line, px. */
const LEADERS_WORD = -13;
const OWN_WORD = -8;
const BAND = 3;
const LEASES = 5;
const LEASE = 4;
/** Number of leases drawn one by one; for more, their number is written. */
const SHOWN_LEASES = 8;
const TURN = 6;

/**
 * @param {CanvasRenderingContext2D} context
 * @param {object} folded of model/node_messages.js
 * @param {object} given xAt(line), scale (of layout/unfolded.js), lines, top, bottom, now_us, spans_us
 */
export function paintLines(context, folded, theme, given) {
  for (const line of given.lines) {
    const x = given.xAt(line.name);
    context.fillStyle = theme.ink.line;
    context.fillRect(x - 0.5, given.top, 1, given.bottom - given.top);
  }
  const deadlines = deadlinesOf(folded, given.spans_us, given.now_us);
  for (const overlap of overlapsOf(deadlines)) paintOverlap(context, overlap, theme, given);
  for (const one of deadlines) paintDeadline(context, one, theme, given);
  paintLeases(context, folded.leases, theme, given);
  for (const one of folded.borrowers) paintBorrower(context, one, theme, given);
  for (const one of folded.leaders) paintLeader(context, one, theme, given);
  for (const mark of folded.marks) paintMark(context, mark, theme, given);
}

/** y of an event, limited to the window's top. */
const topOf = (point, { scale, top }) => Math.max(top, scale.at(point));
/** y of an event that has happened, else of now; limited to the window's bottom. */
const endOf = (point, { scale, now_us, bottom }) => Math.min(bottom, point && point.at_us <= now_us ? scale.at(point) : scale.after(now_us));

/** Offset of a borrower's line: two borrowers of one session are drawn side by side. */
const beside = (number) => (number % 2 ? TURN : 0);

function paintBorrower(context, borrower, theme, given) {
  const { xAt, now_us, scale, top, bottom } = given;
  const x = xAt(sessionLine(borrower.client));
  if (x === null) return;
  const at = x + beside(borrower.number);
  borrower.states.forEach((step, place) => {
    if (step.at_us > now_us) return;
    const next = borrower.states[place + 1] ?? borrower.until;
    const from = topOf(step, given);
    const to = endOf(next, given);
    if (to < top || from > bottom) return;
    context.strokeStyle = theme.ink.ink;
    context.lineWidth = (step.state === "connected" ? 2 : 1.4) * theme.scale;
    context.setLineDash({ connecting: [2, 3], unsubscribing: [5, 3] }[step.state] ?? []);
    stroke(context, at, from, at, to);
    context.setLineDash([]);
    if (place === 0 && scale.at(step) >= top) label(context, theme, `borrower ${borrower.number}`, at + 9, from, "left");
  });
  if (borrower.until && borrower.until.at_us <= now_us && scale.at(borrower.until) >= top) {
    const y = scale.at(borrower.until);
    context.strokeStyle = theme.ink.ink;
    context.lineWidth = 2 * theme.scale;
    stroke(context, at - 5, y, at + 5, y);
  }
}

function paintLeader(context, leader, theme, given) {
  const { xAt, scale, now_us, top, bottom } = given;
  const x = xAt(leaderLine(leader.node));
  if (x === null || leader.from.at_us > now_us) return;
  const from = topOf(leader.from, given);
  const to = endOf(leader.until, given);
  if (to < top || from > bottom) return;
  context.strokeStyle = theme.ink.proto;
  context.lineWidth = 3 * theme.scale;
  stroke(context, x, from, x, to);
  if (scale.at(leader.from) >= top) label(context, theme, `leader ${leader.number}`, x + 8, from, "left");
  if (leader.until && leader.until.at_us <= now_us && to >= top) {
    glyph(context, "cross", x, to, 4.5 * theme.scale, theme.ink.harm, theme.ink.bg);
    label(context, theme, leader.why, x + 9, to, "left", theme.ink.harm);
  }
}

/** Marks a leader's rebalance by an open ring on its line, a commit by a full diamond. */
function paintMark(context, mark, theme, { xAt, scale, now_us }) {
  const x = xAt(leaderLine(mark.node));
  if (x === null || mark.at_us > now_us || mark.type === "election.failed") return;
  glyph(context, mark.type === "leader.round" ? "snapshot_request" : "snapshot", x, scale.at(mark), 3.4 * theme.scale, theme.ink.proto, theme.ink.bg);
}

function paintDeadline(context, one, theme, { xAt, scale, top, bottom, now_us }) {
  const x = xAt(sessionLine(one.client));
  if (x === null || one.from_us > now_us) return;
  const at = x + (one.side === "leader" ? LEADERS_WORD : OWN_WORD) * theme.scale;
  const from = Math.max(top, scale.before(one.from_us));
  const to = Math.min(bottom, scale.after(one.until_us));
  if (to <= top || from >= bottom) return;
  context.fillStyle = one.side === "leader" ? theme.ink.proto : theme.ink.strong;
  context.fillRect(at, from, BAND * theme.scale, to - from);
  if (one.ended) return;
  context.strokeStyle = context.fillStyle;
  context.lineWidth = 1.2;
  context.setLineDash([1.5, 2.5]);
  const end = Math.min(bottom, scale.after(one.expires_us));
  stroke(context, at + 1.5, to, at + 1.5, end);
  context.setLineDash([]);
  if (end < bottom) context.fillRect(at - 1.5, end, BAND * theme.scale + 3, 1.6);
}

/** Marks the time between the two deadlines, in which two may read, by a double line in the colour of harm. */
function paintOverlap(context, { client, from_us, until_us }, theme, { xAt, scale, top, bottom, width }) {
  const x = xAt(sessionLine(client));
  const from = Math.max(top, scale.after(from_us));
  const to = Math.min(bottom, scale.after(until_us));
  if (x === null || to <= from) return;
  const left = x - 18 * theme.scale;
  const right = x + (LEASES + 10) * theme.scale;
  context.fillStyle = theme.ink.harmWash;
  context.fillRect(left, from, right - left, to - from);
  context.fillStyle = theme.ink.harm;
  for (const at of [left, left + 3]) context.fillRect(at, from, 1.4, to - from);
  if (to - from <= 26) return;
  const words = "two readers possible";
  const beside = right + 24 * theme.scale;
  context.font = fontOf(theme, theme.label, 600);
  const fits = beside + context.measureText(words).width < width; // the last line is near the edge
  label(context, theme, words, fits ? beside : left - 6, (from + to) / 2, fits ? "left" : "right", theme.ink.harm);
}

function paintLeases(context, leases, theme, given) {
  const { xAt, top, bottom, now_us } = given;
  const columns = new Map();
  for (const lease of leases) {
    const x = xAt(sessionLine(lease.client));
    if (x === null || lease.from.at_us > now_us) continue;
    const known = columns.get(lease.client) ?? columns.set(lease.client, new Map()).get(lease.client);
    if (!known.has(lease.stream)) known.set(lease.stream, known.size);
    const from = topOf(lease.from, given);
    const to = endOf(lease.until, given);
    if (known.get(lease.stream) >= SHOWN_LEASES || to <= top || from >= bottom) continue;
    const left = x + (LEASES + 8 + known.get(lease.stream) * (LEASE + 1)) * theme.scale;
    const wide = LEASE * theme.scale;
    if (lease.state === "granted") {
      context.fillStyle = theme.ink.soft;
      context.fillRect(left, from, wide, to - from);
    } else {
      context.strokeStyle = theme.ink.soft;
      context.lineWidth = 1;
      context.setLineDash([2, 2]);
      context.strokeRect(left + 0.5, from, wide - 1, Math.max(1, to - from));
      context.setLineDash([]);
    }
  }
  for (const [client, streams] of columns) {
    if (streams.size <= SHOWN_LEASES) continue;
    label(context, theme, `+${streams.size - SHOWN_LEASES}`, xAt(sessionLine(client)) + (LEASES + 10 + SHOWN_LEASES * (LEASE + 1)) * theme.scale, given.top + 8, "left");
  }
}

function label(context, theme, text, x, y, align, ink = theme.ink.ink2) {
  context.font = fontOf(theme, theme.label, 600);
  context.textAlign = align;
  context.lineJoin = "round";
  context.lineWidth = 4;
  context.strokeStyle = theme.ink.bg;
  context.strokeText(text, x, y);
  context.fillStyle = ink;
  context.fillText(text, x, y);
}

function stroke(context, x0, y0, x1, y1) {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}
