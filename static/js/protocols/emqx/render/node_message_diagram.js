/**
 * Draws the space-time diagram of a group: leaders and sessions as vertical lines, messages as slanted arrows.
 * Time runs down. Kinds of messages differ by stroke, by the mark at the tail and by name. A lost one ends in a cross, a delayed one is
 * dashed, a duplicated one has two heads, a resent one has a ring around its tail. Too many messages are drawn as bars of counts.
 */

import { FAMILY_OF, deadlinesOf, leaderLine, overlapsOf, sessionLine } from "../model/node_messages.js";
import { prepared } from "../../../render/canvas.js";
import { arrowHead, paintCone } from "../../../render/cone.js";
import { glyph } from "../../../render/glyphs.js";
import { fontOf } from "../../../render/theme.js";
import { ticksOf } from "../../../render/time_axes.js";

/**
 * A time axis that is stretched where many events have the same instant: each event has the same step, the rest is to scale.
 * Four messages of one instant are thus below each other, and a later event is never drawn before an earlier one.
 */

/** Largest share of the axis for steps. */
const SHARE = 0.72;

/**
 * @param {object} given
 * @param {number} given.start_us
 * @param {number} given.span_us
 * @param {number} given.from_px
 * @param {number} given.to_px
 * @param {{at_us: number, order: number}[]} given.points events; those outside the window get no step
 * @param {number} given.step_px largest step of one event; 0: the whole axis is to scale
 */
export function unfolded({ start_us, span_us, from_px, to_px, points, step_px }) {
  const inside = points.filter(({ at_us }) => at_us >= start_us && at_us <= start_us + span_us).sort((a, b) => a.at_us - b.at_us || a.order - b.order);
  const length = to_px - from_px;
  const step = inside.length ? Math.min(step_px, (SHARE * length) / inside.length) : 0;
  const linear_px = length - step * inside.length;
  const timeAt = (us) => from_px + ((us - start_us) / span_us) * linear_px;
  return {
    step,
    /** Position of an event. */
    at: (point) => timeAt(point.at_us) + step * placeIn(inside, (one) => one.at_us < point.at_us || (one.at_us === point.at_us && one.order < point.order)),
    /** Position of an instant, after all its events. */
    after: (us) => timeAt(us) + step * placeIn(inside, (one) => one.at_us <= us),
    /** Position of an instant, before all its events. */
    before: (us) => timeAt(us) + step * placeIn(inside, (one) => one.at_us < us),
    /** The instant at a position. */
    usAt(px) {
      let [low, high] = [start_us, start_us + span_us];
      while (high - low > 1) {
        const middle = Math.floor((low + high) / 2);
        if (timeAt(middle) + step * placeIn(inside, (one) => one.at_us <= middle) <= px) low = middle;
        else high = middle;
      }
      return low;
    },
  };
}

/** Number of leading items for which `before` is true, by binary search; it must be false for all others. */
function placeIn(sorted, before) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (before(sorted[middle])) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Draws the vertical lines of the diagram of messages: leaders and sessions with their lifetimes.
 * Beside a session's line are the two deadlines (left: until its leader drops it, and until it stops reading) and its leases (right).
 */

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
 * @param {object} given xAt(line), scale (of `unfolded`), lines, top, bottom, now_us, spans_us
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

export const AXIS_PX = 54;
const HEAD_PX = 46;
const FOOT_PX = 10;
/** Largest step of one event on the time axis, px. */
const STEP_PX = 15;
const UNLIT = 0.22;

/** How a family of messages is drawn: ink, stroke in px, mark at its tail. */
const LOOKS = {
  connect: { ink: "ink2", stroke: 1.4, mark: "dot" },
  ping: { ink: "strong", stroke: 1, mark: null },
  grant: { ink: "proto", stroke: 2.2, mark: "snapshot" },
  progress: { ink: "soft", stroke: 1.3, mark: null },
  revoke: { ink: "proto", stroke: 1.4, mark: "snapshot_request" },
  leave: { ink: "ink", stroke: 1.6, mark: "subscription_update" },
};
const lookOf = (kind) => LOOKS[FAMILY_OF[kind]];

/**
 * @param {HTMLCanvasElement} canvas
 * @param {object} folded of model/node_messages.js
 * @param {object} given width, ratio, height, window, now_us, furthest_us, lines [{name, title, note}], hidden (families), even (time to scale), spans_us, bins, bins_from_us, lit, marks
 * @returns {{places: {message: object, x0: number, y0: number, x1: number, y1: number}[], usAt: (y: number) => number}}
 */
export function paintNodeMessages(canvas, folded, theme, given) {
  const { width, height, window, now_us, lines, ratio, lit } = given;
  const context = prepared(canvas, width, height, ratio);
  const [top, bottom] = [HEAD_PX * theme.scale, height - FOOT_PX];
  const left = AXIS_PX * theme.scale;
  const pitch = (width - left) / Math.max(1, lines.length);
  const places_of = new Map(lines.map(({ name }, at) => [name, left + (at + 0.5) * pitch]));
  const xAt = (name) => places_of.get(name) ?? null;
  const messages = folded.messages.filter((one) => !given.hidden.has(FAMILY_OF[one.kind]) && one.sent.at_us <= now_us && xAt(one.from) !== null && xAt(one.to) !== null);
  const points = messages.flatMap((one) => [one.sent, ...one.arrivals, ...(one.lost ? [one.lost] : [])]);
  const scale = unfolded({ start_us: window.start_us, span_us: window.span_us, from_px: top, to_px: bottom, points, step_px: given.even || given.bins ? 0 : STEP_PX * theme.scale });
  const room = { ...given, xAt, scale, top, bottom };
  context.textBaseline = "middle";
  paintAxis(context, theme, room);
  context.save();
  context.beginPath();
  context.rect(0, top - 4, width, bottom - top + 8);
  context.clip();
  paintLines(context, folded, theme, room);
  if (given.bins) paintBins(context, theme, room);
  const [taken, names] = [[], []];
  const places = messages.map((one) => paintMessage(context, one, theme, room, names)).flat();
  for (const name of names) nameOn(context, name, theme, taken); // over the lines of all messages
  if (lit) paintCone(context, lit, theme, (row) => placeOfRow(row, room));
  paintNow(context, theme, room);
  context.restore();
  paintHeads(context, theme, { ...room, pitch });
  return { places, usAt: scale.usAt };
}

/** Position of a row of a highlighted cone: on the line of its leader or of its session. */
function placeOfRow(row, { xAt, scale, now_us, top, bottom }) {
  if (row.at_us > now_us) return null;
  const of_leader = /^(leader|assignment|progress\.saved|progress\.persisted|progress\.loaded|stream\.found|borrower\.(joined|dropped))/.test(row.type);
  const sent_by_leader = row.type === "protocol.sent" && /^(grant|revoke|revoked|invalidate|ping-response|leader-connect-response)$/.test(row.reason);
  const lane = of_leader || sent_by_leader ? leaderLine(row.cluster) : row.client ? sessionLine(row.client) : leaderLine(row.cluster);
  const x = xAt(lane);
  const y = scale.at({ at_us: row.at_us, order: row.seq });
  return x === null || y < top - 4 || y > bottom + 4 ? null : { x, y, lane };
}

function paintAxis(context, theme, { window, scale, top, bottom, width, furthest_us }) {
  context.font = fontOf(theme);
  context.textAlign = "right";
  let free = -Infinity;
  for (const tick of ticksOf(window.start_us, window.span_us, Math.max(2, (bottom - top) / (34 * theme.scale)))) {
    const y = scale.before(tick.at_us);
    if (y < top || y > bottom) continue;
    context.fillStyle = theme.ink.line;
    context.fillRect((AXIS_PX - 4) * theme.scale, y, width, 1);
    if (y < free + 15 * theme.scale) continue;
    context.fillStyle = theme.ink.ink2;
    context.fillText(tick.text, (AXIS_PX - 9) * theme.scale, y);
    free = y;
  }
  const from = scale.after(Math.max(furthest_us, window.start_us));
  if (from >= bottom) return;
  context.fillStyle = theme.ink.sunk;
  context.fillRect((AXIS_PX - 4) * theme.scale, Math.max(top, from), width, bottom - Math.max(top, from));
}

function paintHeads(context, theme, { lines, xAt, pitch }) {
  for (const { name, title, note } of lines) {
    context.textAlign = "center";
    context.font = fontOf(theme, theme.label + 1.5, 650);
    context.fillStyle = name.startsWith("leader ") ? theme.ink.proto : theme.ink.ink;
    context.fillText(title, xAt(name), 14 * theme.scale, pitch - 6);
    context.font = fontOf(theme);
    context.fillStyle = theme.ink.ink2;
    context.fillText(note, xAt(name), 30 * theme.scale, pitch - 6);
  }
}

function paintMessage(context, message, theme, room, names) {
  const { xAt, scale, now_us, lit, top, bottom } = room;
  const look = lookOf(message.kind);
  const shown = lit === null || message.seqs.some((seq) => lit.seqs.has(seq));
  const [x0, x1] = [xAt(message.from), xAt(message.to)];
  const y0 = scale.at(message.sent);
  const ends = endsOf(message, room, { x0, x1, y0 });
  if (ends.every(({ y }) => y < top) || y0 > bottom) return [];
  context.globalAlpha = shown ? 1 : UNLIT;
  context.strokeStyle = context.fillStyle = theme.ink[look.ink];
  context.lineWidth = look.stroke * (lit && shown ? 1.4 : 1) * theme.scale;
  for (const end of ends) {
    context.setLineDash(message.delayed_us ? [6, 4] : []);
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(end.x, end.y);
    context.stroke();
    context.setLineDash([]);
    if (end.landed) arrowHead(context, theme, { x: x0, y: y0 }, end);
    if (end.lost) glyph(context, "cross", end.x, end.y, 4.4 * theme.scale, theme.ink.harm, theme.ink.bg);
    if (end.open) glyph(context, "snapshot_request", end.x, end.y, 3 * theme.scale, theme.ink.harm, theme.ink.bg);
  }
  const tail = x0 + Math.sign(x1 - x0) * 7 * theme.scale;
  const slope = (ends[0].y - y0) / (ends[0].x - x0 || 1);
  if (look.mark) glyph(context, look.mark, tail, y0 + slope * (tail - x0), 3.6 * theme.scale, theme.ink[look.ink], theme.ink.bg);
  if (message.again) ringAt(context, theme, x0, y0);
  const alive = ends.filter(({ x }) => x !== x0);
  if (alive.length && message.sent.at_us <= now_us) names.push({ message, x0, y0, end: alive[0], alpha: context.globalAlpha });
  context.globalAlpha = 1;
  return ends.map(({ x, y }) => ({ message, x0, y0, x1: x, y1: y }));
}

/** The ends of a message's lines: at each arrival so far, at a cross when lost, or halfway. */
function endsOf(message, { scale, now_us, spans_us }, { x0, x1, y0 }) {
  const ends = message.arrivals.filter(({ at_us }) => at_us <= now_us).map((point) => ({ x: x1, y: scale.at(point), landed: true }));
  if (message.lost && message.lost.at_us <= now_us) {
    const at_receiver = message.lost.why === "no-such-process" || message.lost.why === "node-down";
    ends.push({ x: at_receiver ? x1 : (x0 + x1) / 2, y: scale.at(message.lost), lost: true });
  }
  if (message.unanswered) ends.push({ x: x0 + Math.sign((x1 ?? x0) - x0 || 1) * 22, y: y0 + 4, open: true });
  // in flight: drawn halfway, since its arrival is not known yet
  if (ends.length === 0 && spans_us) ends.push({ x: (x0 + x1) / 2, y: Math.max(y0, (y0 + scale.after(now_us)) / 2) });
  return ends;
}

/** Marks a resent message by a ring around its tail. */
function ringAt(context, theme, x, y) {
  context.lineWidth = 1.4 * theme.scale;
  context.beginPath();
  context.arc(x, y, 5 * theme.scale, 0, 7);
  context.stroke();
}

function nameOn(context, { message, x0, y0, end, alpha }, theme, taken) {
  const text = `${message.kind}${message.stream === null ? "" : ` ${shortStream(message.stream)}`}${message.again ? " (resent)" : ""}${message.doubled ? " ×2" : ""}`;
  context.font = fontOf(theme, theme.label, message.again || message.lost ? 650 : 400);
  const wide = context.measureText(text).width;
  const [x, y] = [(x0 + end.x) / 2, (y0 + end.y) / 2 - 6 * theme.scale];
  const box = { left: x - wide / 2 - 2, right: x + wide / 2 + 2, top: y - 6 * theme.scale, bottom: y + 6 * theme.scale };
  if (wide + 30 > Math.abs(end.x - x0) || taken.some((other) => box.left < other.right && box.right > other.left && box.top < other.bottom && box.bottom > other.top)) return;
  taken.push(box);
  context.globalAlpha = alpha;
  context.textAlign = "center";
  context.lineJoin = "round";
  context.lineWidth = 3.5;
  context.strokeStyle = theme.ink.bg;
  context.strokeText(text, x, y);
  context.fillStyle = message.lost ? theme.ink.harm : theme.ink.ink2;
  context.fillText(text, x, y);
  context.globalAlpha = 1;
}

/** Shortens "3/1/meters/heat" to shard and generation, which distinguish the streams of a topic. */
const shortStream = (stream) => stream.split("/").slice(0, 2).join("/");

/** Draws bars of message counts to the right of each session's line, with a cross where some were lost. */
function paintBins(context, theme, { bins, bins_from_us, lines, xAt, scale, now_us, width }) {
  const sum = (kinds, wanted) => Object.entries(kinds ?? {}).reduce((all, [kind, numbers]) => (wanted(kind) ? all.map((one, at) => one + numbers[at]) : all), new Array(160).fill(0));
  const of = lines.filter(({ name }) => name.startsWith("session ")).map(({ name }) => ({ x: xAt(name), kinds: bins.counts[name.slice(8)], lost: bins.lost[name.slice(8)] }));
  const most = Math.max(1, ...of.flatMap(({ kinds }) => sum(kinds, () => true)));
  const room = Math.max(12, (width / Math.max(1, lines.length)) * 0.38);
  for (const { x, kinds, lost } of of) {
    const all = sum(kinds, () => true);
    const grants = sum(kinds, (kind) => ["grant", "revoke"].includes(FAMILY_OF[kind]));
    for (let at = 0; at < all.length; at++) {
      const from_us = bins_from_us + at * bins.width_us;
      if (from_us > now_us) break;
      const y = scale.before(from_us);
      const high = Math.max(0.8, scale.before(from_us + bins.width_us) - y - 0.6);
      context.fillStyle = theme.ink.soft;
      context.fillRect(x + 2, y, (all[at] / most) * room, high);
      context.fillStyle = theme.ink.proto;
      context.fillRect(x + 2, y, (grants[at] / most) * room, high);
      if (lost?.[at]) glyph(context, "cross", x - 6, y + high / 2, 2.6 * theme.scale, theme.ink.harm, theme.ink.bg);
    }
  }
}

function paintNow(context, theme, { scale, now_us, marks, top, bottom, width }) {
  for (const mark of marks) {
    const y = scale.before(mark.at_us);
    if (y < top || y > bottom) continue;
    context.strokeStyle = theme.ink.harm;
    context.lineWidth = 1.4;
    context.setLineDash([2, 3]);
    context.beginPath();
    context.moveTo((AXIS_PX - 4) * theme.scale, y);
    context.lineTo(width, y);
    context.stroke();
    context.setLineDash([]);
    context.font = fontOf(theme, theme.label, 600);
    context.textAlign = "right";
    context.fillStyle = theme.ink.harm;
    context.fillText(mark.text, width - 4, y - 8 * theme.scale);
  }
  context.fillStyle = theme.ink.ink;
  context.fillRect((AXIS_PX - 8) * theme.scale, scale.after(now_us) - 0.6, width, 1.3);
}
