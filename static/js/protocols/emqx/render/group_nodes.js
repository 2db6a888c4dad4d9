/** Draws the upper part of the picture: nodes as enclosures, the leader, cards of clients, links. Names are buttons over the canvas. */

import { pointOn } from "../../../layout/plane.js";

import { counted, span } from "../../../model/format.js";
import { badgeOf } from "../model/rounds.js";
import { freeCell, glyph } from "../../../render/glyphs.js";
import { markAs } from "../../../render/marks.js";
import { fontOf, ORIGINS } from "../../../render/theme.js";

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

