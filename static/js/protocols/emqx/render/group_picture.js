/**
 * Draws the small picture of a group: its leader at the left, its streams in the middle, its clients at the right.
 * Clients have their leases as dials. Each stream is connected to its owner in the leader's table (left end) and to its readers (right
 * end). Same marks as in the lab, without texts.
 */

import { prepared } from "../../../render/canvas.js";
import { freeCell, glyph } from "../../../render/glyphs.js";
import { ORIGINS } from "../../../render/theme.js";

const TURN = 2 * Math.PI;
const TOP = -Math.PI / 2;
const LEADER_PX = 34;

/** @param {HTMLCanvasElement} canvas @param {object} group as received from the server */
export function paintGroupPicture(canvas, group, theme, { ratio, width, height }) {
  const context = prepared(canvas, width, height, ratio);
  const { streams, clients } = group;
  const radius = Math.min(12, height / Math.max(1, clients.length) / 2 - 1.5);
  const dials = new Map(clients.map((client, at) => [client.number, { x: width - 15, y: (height * (at + 0.5)) / clients.length, client }]));
  const pitch = Math.min(24, height / Math.max(1, streams.length));
  const first = (height - pitch * streams.length) / 2;
  const [x0, x1] = [LEADER_PX + 44, width - 62];
  const longest = Math.max(1, ...streams.map(({ length }) => length));
  streams.forEach((stream, at) => {
    const y = first + pitch * (at + 0.5);
    paintTie(context, theme, { x: LEADER_PX, y: height / 2 }, { x: x0 - 12, y }, stream);
    paintTape(context, theme, stream, { x0, x1, y, high: Math.min(11, pitch * 0.5), unit: (x1 - x0) / longest });
    for (const number of stream.readers) if (dials.has(number)) curve(context, { x: x1 + 3, y }, { x: dials.get(number).x - radius - 3, y: dials.get(number).y }, theme.origin[number % ORIGINS], 1.4, []);
  });
  for (const dial of dials.values()) paintDial(context, theme, dial, radius);
  paintLeader(context, theme, group.leader, height / 2);
}

function curve(context, from, to, colour, width, dash) {
  const middle = (from.x + to.x) / 2;
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(from.x, from.y);
  context.bezierCurveTo(middle, from.y, middle, to.y, to.x, to.y);
  context.stroke();
  context.setLineDash([]);
}

/** The owner in the leader's table: a cell in that client's hue and shape; the line is dashed unless the stream is granted. */
function paintTie(context, theme, from, to, { believed, state }) {
  if (believed === null) return;
  curve(context, from, { x: to.x - 6, y: to.y }, theme.ink.soft, 1.1, state === "granted" ? [] : [2, 2]);
  freeCell(context, believed, to.x, to.y, 6, 8, theme.origin[believed % ORIGINS], theme.ink.bg);
}

/** Committed messages are pale, delivered ones in full colour, the rest an outline. A double line marks two readers, a cross none. */
function paintTape(context, theme, { readers, believed, length, over, committed, delivered }, { x0, x1, y, high, unit }) {
  const top = y - high / 2;
  const number = readers[0] ?? believed;
  context.fillStyle = theme.ink.sunk;
  context.fillRect(x0, top, Math.max(2, length * unit), high);
  context.strokeStyle = theme.ink.strong;
  context.lineWidth = 0.6;
  context.strokeRect(x0, top, Math.max(2, length * unit), high);
  context.fillStyle = number === null ? theme.ink.line : theme.done[number % ORIGINS];
  context.fillRect(x0, top, committed * unit, high);
  context.fillStyle = number === null ? theme.ink.strong : theme.origin[number % ORIGINS];
  context.fillRect(x0 + committed * unit, top, Math.max(0, delivered - committed) * unit, high);
  if (readers.length === 1 || over) return;
  context.fillStyle = theme.ink.harm;
  if (readers.length > 1) for (const at of [y + high / 2 + 1.2, y + high / 2 + 3.6]) context.fillRect(x0, at, Math.max(2, delivered * unit), 1.2);
  else glyph(context, "cross", x1 + 9, y, 3, theme.ink.harm, theme.ink.bg);
}

function paintDial(context, theme, { x, y, client }, radius) {
  const arc = (r, share, colour, width, dash = []) => {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.setLineDash(dash);
    context.beginPath();
    context.arc(x, y, r, TOP, TOP + share * TURN);
    context.stroke();
    context.setLineDash([]);
  };
  arc(radius, 1, client.online ? theme.ink.line : theme.ink.strong, 1, client.online ? [] : [2, 3]);
  if (client.own > 0) arc(radius, client.own, theme.origin[client.number % ORIGINS], 2.4);
  if (client.known > 0) arc(radius - 4, client.known, theme.ink.proto, 1.6);
  if (!client.online) glyph(context, "cross", x, y, 2.6, theme.ink.harm, theme.ink.bg);
}

function paintLeader(context, theme, leader, y) {
  context.strokeStyle = leader && !leader.dead ? theme.ink.proto : theme.ink.strong;
  context.lineWidth = leader && !leader.dead ? 2 : 1.2;
  context.setLineDash(leader && !leader.dead ? [] : [3, 3]);
  context.fillStyle = theme.ink.bg;
  context.beginPath();
  context.roundRect(3, y - 16, LEADER_PX - 3, 32, 5);
  context.fill();
  context.stroke();
  context.setLineDash([]);
  if (leader?.dead) glyph(context, "cross", LEADER_PX / 2 + 1, y, 5, theme.ink.harm, theme.ink.bg);
  else if (leader) glyph(context, "snapshot", LEADER_PX / 2 + 1, y, leader.stable ? 5 : 3.4, theme.ink.proto, theme.ink.bg);
}
