/** Draws the upper part of the picture: nodes as enclosures, the leader, cards of clients, links. Names are buttons over the canvas. */

import { pointOn, shareOf } from "../../../layout/plane.js";
import { counted, span } from "../../../model/format.js";
import { badgeOf } from "../model/groups.js";
import { freeCell, glyph } from "../../../render/glyphs.js";
import { PRIORITY, placeLabels } from "../../../render/labels.js";
import { markAs } from "../../../render/marks.js";
import { ORIGINS, fontOf } from "../../../render/theme.js";

/** @param {object} scene of the group stage */
export function paintNodes(context, scene, state, theme) {
  const { plane } = scene;
  enclosures(context, plane, state, theme);
  for (const trunk of plane.trunks) paintTrunk(context, trunk, state.view, theme, plane.scale);
  spokes(context, scene, theme);
  for (const node of plane.nodes) if (!node.dense) for (const card of node.cards) paintCard(context, card, scene, theme);
  paintLeader(context, scene, state, theme);
}

function enclosures(context, plane, state, theme) {
  markAs(context, "node");
  for (const { name, box } of plane.nodes) {
    const up = state.view.clusters[name]?.state === "up";
    context.strokeStyle = up ? theme.ink.line : theme.ink.harm;
    context.lineWidth = 2;
    context.setLineDash(up ? [] : [4, 3]);
    rounded(context, box, 6, "stroke");
    context.setLineDash([]);
    context.fillStyle = theme.ink.sunk;
    rounded(context, box, 6, "fill");
  }
}

function rounded(context, { x, y, width, height }, radius, how) {
  context.beginPath();
  context.roundRect(x, y, width, height, radius);
  context[how]();
}

function paintTrunk(context, { a, b, points }, view, theme, k) {
  markAs(context, "link");
  const links = [view.links[`${a} -> ${b}`], view.links[`${b} -> ${a}`]];
  const cut = links.some((link) => link?.state === "cut");
  const down = [a, b].some((name) => view.clusters[name]?.state !== "up");
  context.strokeStyle = cut || down ? theme.ink.harm : theme.ink.strong;
  context.lineWidth = links.some((link) => link?.slowed) ? 3 : 1.6;
  context.setLineDash(cut || down ? [2, 4] : []);
  context.beginPath();
  context.moveTo(points[0], points[1]);
  context.bezierCurveTo(...points.slice(2));
  context.stroke();
  context.setLineDash([]);
  if (!cut) return;
  const [x, y] = pointOn(points, 0.5);
  glyph(context, "cross", x, y, 5 * k, theme.ink.harm, theme.ink.bg);
}

/** A line from each card to its leader; dashed where only one of the two has the other in its state. */
function spokes(context, { plane, clients, leading }, theme) {
  if (plane.turned || !leading) return;
  const { leader } = plane;
  markAs(context, "borrower");
  for (const node of plane.nodes) {
    if (node.dense || node.name !== plane.home) continue;
    for (const card of node.cards) {
      const client = clients.get(card.client);
      const last = client?.incarnations.at(-1);
      if (!last?.own && !last?.known) continue;
      const left = card.x < leader.x;
      const x0 = left ? card.x + card.width : card.x;
      const x1 = left ? leader.x : leader.x + leader.width;
      const y0 = card.y + card.height / 2;
      const y1 = Math.max(leader.y + 12, Math.min(leader.y + leader.height - 12, y0));
      const both = last.own && last.known && String(last.own.leader) === leading.number;
      context.strokeStyle = both ? theme.origin[client.number % ORIGINS] : theme.ink.strong;
      context.lineWidth = both ? 1.6 : 1;
      context.setLineDash(both ? [] : [3, 3]);
      context.beginPath();
      context.moveTo(x0, y0);
      context.bezierCurveTo((x0 + x1) / 2, y0, (x0 + x1) / 2, y1, x1, y1);
      context.stroke();
    }
  }
  context.setLineDash([]);
}

const STATES = { connecting: "finding leader", connected: "connected", unsubscribing: "unsubscribing" };

/** @returns {string} a client's state in a few words, for its card */
export function clientWords(client) {
  const own = client.incarnations.filter((one) => one.own);
  if (!client.online) return "offline";
  if (own.length === 0) return "in no group";
  const streams = own.reduce((sum, one) => sum + one.own.streams, 0);
  return own.at(-1).own.state === "connected" ? `reads ${counted(streams, "stream")}` : STATES[own.at(-1).own.state];
}

/** @returns {{words: string, harm: boolean} | null} where the client's state and the leader's table differ */
export function mismatchWords(client) {
  const ghosts = client.incarnations.filter((one) => !one.own);
  if (client.paused) return { words: "acknowledges nothing", harm: true };
  if (ghosts.length > 0) return { words: `${ghosts.length > 1 ? `${ghosts.length} stale borrowers` : `stale borrower ${ghosts[0].id.split("/").at(-1)}`} at leader`, harm: true };
  const unknown = client.incarnations.find((one) => one.own?.state === "connected" && !one.known);
  if (unknown) return { words: "not in leader's table", harm: true };
  return null;
}

function paintCard(context, card, { plane, clients }, theme) {
  const client = clients.get(card.client);
  if (!client) return;
  const k = plane.scale;
  markAs(context, "client");
  context.fillStyle = theme.ink.bg;
  rounded(context, card, 4, "fill");
  context.strokeStyle = theme.ink.line;
  context.lineWidth = 1;
  context.setLineDash(client.online ? [] : [3, 3]);
  rounded(context, card, 4, "stroke");
  context.setLineDash([]);
  const x = card.x + 54 * k;
  freeCell(context, client.number, x + 4 * k, card.y + 14 * k, 8 * k, 13 * k, theme.origin[client.number % ORIGINS], theme.ink.bg);
  markAs(context, "text");
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.font = fontOf(theme, theme.label, 400);
  context.fillStyle = client.online ? theme.ink.ink2 : theme.ink.harm;
  context.fillText(clientWords(client), x, card.y + 30 * k);
  const odd = mismatchWords(client);
  if (!odd) return;
  context.fillStyle = odd.harm ? theme.ink.harm : theme.ink.ink3;
  context.fillText(odd.words, x, card.y + 44 * k);
}

function paintLeader(context, { plane, group, leading, counts }, state, theme) {
  const { leader, scale: k } = plane;
  const dead = !leading && group?.claim;
  markAs(context, "leader");
  context.fillStyle = theme.ink.bg;
  rounded(context, leader, 6, "fill");
  context.strokeStyle = leading ? theme.ink.proto : theme.ink.strong;
  context.lineWidth = leading ? 2 * k : 1.2;
  context.setLineDash(leading ? [] : [4, 4]);
  rounded(context, leader, 6, "stroke");
  context.setLineDash([]);
  context.textAlign = "left";
  context.textBaseline = "middle";
  markAs(context, "text");
  const line = (at, text, colour = theme.ink.ink2, weight = 400) => {
    context.font = fontOf(theme, theme.label, weight);
    context.fillStyle = colour;
    context.fillText(text, leader.x + 14 * k, leader.y + (38 + at * 17) * k);
  };
  if (dead) {
    line(0, `dead; its claim at ${group.claim.node}`, theme.ink.harm);
    line(1, `is valid for ${span(Math.max(0, group.claim.until_us - state.at_us))}: no leader`);
    line(2, "can be elected until then");
    return;
  }
  if (!leading) {
    line(0, "elected at the next lookup");
    return;
  }
  const { leader: one } = leading;
  const others = Object.keys(group.leaders).length - 1;
  line(0, counted(Object.keys(one.borrowers).length, "borrower"));
  line(1, `${counted(counts.streams - counts.over, "stream")}, ${one.balanced ? "balanced" : "not balanced yet"}`, one.balanced ? theme.ink.ink2 : theme.ink.harm);
  line(2, `commits in ${span(Math.max(0, (one.heartbeat_us ?? state.at_us) - state.at_us))}`);
  if (others > 0) line(3, others === 1 ? "an older leader still runs" : `${others} older leaders still run`, theme.ink.harm);
  if (badgeOf(group).stable) paintBadge(context, leader, theme, k);
}

/** A stable group: a badge on the upper edge of the leader's box. */
function paintBadge(context, leader, theme, k) {
  markAs(context, "stable");
  const text = "✓ stable";
  context.font = fontOf(theme, theme.label, 600);
  const width = context.measureText(text).width + 16 * k;
  const box = { x: leader.x + leader.width - width - 12 * k, y: leader.y - 9 * k, width, height: 18 * k };
  context.fillStyle = theme.ink.bg;
  rounded(context, box, 9 * k, "fill");
  context.strokeStyle = theme.ink.proto;
  context.lineWidth = 1.4 * k;
  rounded(context, box, 9 * k, "stroke");
  context.fillStyle = theme.ink.proto;
  context.fillText(text, box.x + 8 * k, leader.y + 0.5);
}

/**
 * Places the names of messages in flight between nodes, clear of nodes, of the links' latencies and of each other.
 * Numbers only, px.
 */

/** Distances of a name from the middle of its message, px at scale 1; the larger ones are for crowded links. */
const OFFSETS_PX = [-20, 8, -36, 24, -52, 40];

/** Position of the button with a link's latency, from the middle of its curve, px at scale 1. */
const LATENCY = { x: -22, y: 8, width: 52, height: 20 };

/**
 * @param {{flight: {what: string, client: string}, x: number, y: number}[]} places of the messages
 * @param {import("../layout/group_plane.js").GroupPlane} plane
 * @param {{measure: (text: string) => number, height: number, bounds: {width: number, height: number}}} given height: of a line of text
 * @returns {{x: number, y: number, width: number, height: number, label: string}[]} names that have a free place; without the client's name where that is too long
 */
export function flightLabels(places, plane, { measure, height, bounds }) {
  const k = plane.scale;
  const latencies = plane.trunks.map(({ points }) => pointOn(points, 0.5)).map(([x, y]) => ({ x: x + LATENCY.x * k, y: y + (plane.turned ? -8 : LATENCY.y * k), width: LATENCY.width * k, height: LATENCY.height * k }));
  const taken = [plane.leader, ...plane.nodes.map(({ box }) => box), ...latencies];
  const requests = places.map(({ flight, x, y }) => {
    const form = (label) => {
      const width = measure(label);
      return { width, label, places: OFFSETS_PX.flatMap((offset) => [x - width / 2, x - width - 8, x + 8].map((left) => ({ x: left, y: y + offset * k }))) };
    };
    return { priority: PRIORITY.quiet, height, forms: [form(`${flight.what}, ${flight.client}`), form(flight.what)] };
  });
  return placeLabels(requests, bounds, taken);
}

/**
 * Draws the moving part of a group lab's picture: leases as dials, and messages between nodes.
 * The outer ring is the client's deadline (how long it keeps reading without a message), the inner one the leader's (how long it keeps the
 * client). Between their ends, shaded, is the time in which two could read. With one ring the two disagree: only the outer ring means a
 * reader that its leader has dropped, only the inner ring a borrower that exists only in the leader's table.
 */

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
