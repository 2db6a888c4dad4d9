/**
 * Draws the moving part of a group lab's picture: leases as dials, and messages between nodes.
 * The outer ring is the client's deadline (how long it keeps reading without a message), the inner one the leader's (how long it keeps the
 * client). Between their ends, shaded, is the time in which two could read. With one ring the two disagree: only the outer ring means a
 * reader that its leader has dropped, only the inner ring a borrower that exists only in the leader's table.
 */

import { flightLabels } from "../layout/flight_labels.js";
import { pointOn, shareOf } from "../../../layout/plane.js";
import { glyph } from "../../../render/glyphs.js";
import { markAs } from "../../../render/marks.js";
import { fontOf, ORIGINS } from "../../../render/theme.js";

const TURN = 2 * Math.PI;
const TOP = -Math.PI / 2;

/** More messages in flight than this are drawn without names. */
const NAMED_MAX = 10;

/** @returns {boolean} whether anything moves while the lab plays */
export function paintDials(context, scene, theme, at_us) {
  const { plane, clients, spans } = scene;
  const k = plane.scale;
  const whole_us = spans.session_ping_leader_interval + spans.session_ping_leader_timeout;
  let any = false;
  for (const { cards, dense } of plane.nodes) {
    for (const card of cards) {
      const client = clients.get(card.client);
      if (!client) continue;
      const newest = client.incarnations.at(-1);
      any ||= newest !== undefined;
      const hue = theme.origin[client.number % ORIGINS];
      if (dense) dial(context, card.x + card.width / 2, card.y + card.height / 2, card.width * 0.38, newest, client.online, { hue, theme, at_us, whole_us });
      else {
        dial(context, card.x + 28 * k, card.y + card.height / 2, 19 * k, newest, client.online, { hue, theme, at_us, whole_us });
        client.incarnations.slice(0, -1).slice(-2).forEach((one, place) => {
          const x = card.x + card.width - (16 + 26 * place) * k;
          dial(context, x, card.y + 17 * k, 10 * k, one, client.online, { hue, theme, at_us, whole_us });
        });
      }
    }
  }
  return any;
}

/** Draws the leader's timers: until the next commit (a crash before it loses the progress reported since the last one), and left of it until the next rebalance, with a hand for each time that the timer was armed. */
export function paintLeaderDials(context, { plane, leading, spans }, theme, at_us) {
  if (!leading) return;
  const k = plane.scale;
  const { leader } = plane;
  const y = leader.y + leader.height - 22 * k;
  const left = (us, whole_us) => Math.max(0, Math.min(1, (us - at_us) / whole_us)) * TURN;
  const { heartbeat_us, rounds } = leading.leader;
  markAs(context, "timer-commit");
  if (heartbeat_us !== null) timerDial(context, leader.x + leader.width - 22 * k, y, k, [left(heartbeat_us, spans.leader_heartbeat_interval)], theme.ink.proto, theme);
  markAs(context, "timer-rebalance");
  timerDial(context, leader.x + leader.width - 52 * k, y, k, rounds.due_us.map((us) => left(us, spans.leader_renew_streams_interval)), theme.ink.soft, theme);
}

function timerDial(context, x, y, k, angles, colour, theme) {
  arc(context, x, y, 11 * k, 0, TURN, theme.ink.line, 1);
  arc(context, x, y, 11 * k, 0, Math.max(0, ...angles), colour, 3 * k);
  if (angles.length > 1) for (const angle of angles) tick(context, x, y, 7 * k, 14 * k, angle, theme.ink.ink);
}

/** Draws the remaining times as arcs from the top, clockwise; a full ring is the length of the borrower's lease. */
function dial(context, x, y, radius, incarnation, online, { hue, theme, at_us, whole_us }) {
  const angle = (until_us) => (until_us === null || until_us === undefined ? 0 : (Math.max(0, Math.min(whole_us, until_us - at_us)) / whole_us) * TURN);
  const own = angle(incarnation?.own?.until_us);
  const known = angle(incarnation?.known?.deadline_us);
  const thick = Math.max(2, radius * 0.17);
  const inner = radius - thick * 1.7;
  markAs(context, "ring-whole");
  arc(context, x, y, radius, 0, TURN, theme.ink.line, 1, online ? [] : [2, 3]);
  if (own > known && incarnation?.own?.state === "connected") {
    markAs(context, "ring-gap");
    context.fillStyle = known > 0 ? theme.ink.harmWash : theme.ink.harmSoft;
    context.beginPath();
    context.moveTo(x, y);
    context.arc(x, y, radius, TOP + known, TOP + own);
    context.closePath();
    context.fill();
  }
  markAs(context, "ring-client");
  if (own > 0) arc(context, x, y, radius, 0, own, hue, thick);
  if (own > 0 && own < TURN) tick(context, x, y, radius - thick, radius + thick * 0.8, own, theme.ink.ink);
  markAs(context, "ring-leader");
  if (known > 0) arc(context, x, y, inner, 0, known, theme.ink.proto, thick * 0.8, incarnation.own ? [] : [2, 2]);
  if (known > 0 && known < TURN) tick(context, x, y, inner - thick * 1.6, inner + thick * 0.8, known, theme.ink.proto);
}

function arc(context, x, y, radius, from, to, colour, width, dash = []) {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.setLineDash(dash);
  context.beginPath();
  context.arc(x, y, radius, TOP + from, TOP + to);
  context.stroke();
  context.setLineDash([]);
}

function tick(context, x, y, from, to, angle, colour) {
  const [dx, dy] = [Math.cos(TOP + angle), Math.sin(TOP + angle)];
  context.strokeStyle = colour;
  context.lineWidth = 1.4;
  context.beginPath();
  context.moveTo(x + dx * from, y + dy * from);
  context.lineTo(x + dx * to, y + dy * to);
  context.stroke();
}

/** Shapes by kind of message: request, response, grant, progress, revoke, end. */
const SHAPE_OF = {
  "leader-wanted": "snapshot_request",
  ping: "snapshot_request",
  "leader-connect-response": "snapshot_response",
  "ping-response": "snapshot_response",
  grant: "snapshot",
  "update-progress": "pin",
  revoke: "subscription_update",
  revoked: "subscription_update",
  "revoke-finished": "subscription_update",
  disconnect: "cross",
  invalidate: "cross",
};

/** @returns {{flight: object, x: number, y: number}[]} the messages in flight at an instant, with their positions */
export function flightPlaces(plane, flights, at_us) {
  const places = [];
  for (const flight of flights) {
    if (flight.sent_us > at_us || flight.due_us < at_us) continue;
    const trunk = plane.trunks.find(({ a, b }) => (a === flight.from && b === flight.to) || (b === flight.from && a === flight.to));
    if (!trunk) continue;
    const share = shareOf(flight, at_us);
    const [x, y] = pointOn(trunk.points, trunk.a === flight.from ? share : 1 - share);
    places.push({ flight, x, y: y + (trunk.a === flight.from ? -1 : 1) * 5 * plane.scale });
  }
  return places;
}

/** Draws messages in flight, with names where they fit; if there are too many, with their number. */
export function paintFlights(context, plane, theme, places, totals, bounds) {
  const k = plane.scale;
  for (const { flight, x, y } of places) {
    const shape = SHAPE_OF[flight.what] ?? "dot";
    markAs(context, `flight-${shape}`);
    glyph(context, shape, x, y, 4.4 * k, theme.ink.proto, theme.ink.bg);
  }
  markAs(context, "text");
  context.font = fontOf(theme, theme.label, 600);
  context.textBaseline = "middle";
  if (places.length <= NAMED_MAX) return paintNames(context, plane, theme, places, bounds);
  const carried = Object.values(totals).reduce((sum, count) => sum + count, 0);
  if (carried <= places.length) return;
  const [x, y] = pointOn(plane.trunks[0].points, 0.5);
  context.textAlign = "center";
  context.fillStyle = theme.ink.proto;
  context.fillText(`×${carried}`, x, y - 16 * k);
}

function paintNames(context, plane, theme, places, bounds) {
  const measure = (text) => context.measureText(text).width;
  context.textAlign = "left";
  context.strokeStyle = theme.ink.bg;
  context.lineWidth = 4;
  context.fillStyle = theme.ink.proto;
  for (const { x, y, height, label } of flightLabels(places, plane, { measure, height: theme.label + 3, bounds })) {
    context.strokeText(label, x, y + height / 2);
    context.fillText(label, x, y + height / 2);
  }
}
