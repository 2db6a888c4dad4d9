/**
 * Places the parts of a group lab's picture: nodes as enclosures, the leader between them, cards of clients in their nodes.
 * Below them is the leader's table with a tape for each stream. Numbers only, px. Narrow pages: one column, the leader's node first.
 */

import { countsOfFold, isOver } from "../model/groups.js";

/** Pages narrower than this have one column, px. */
const ONE_COLUMN_BELOW_PX = 800;

/** More clients than this at one node are drawn as dials without cards. */
const CARDS_MAX = 8;

/** More tapes than the first limit are drawn without labels for their gaps; more than the second are folded to strips. */
export const TALL_TAPES_MAX = 8;
export const TAPES_MAX = 32;

/** @typedef {{x: number, y: number, width: number, height: number}} Box */
/** @typedef {{name: string, box: Box, cards: (Box & {client: string})[], dense: boolean}} NodePlace */
/** @typedef {{width: number, scale: number, turned: boolean, nodes: NodePlace[], leader: Box, home: string | null, trunks: {a: string, b: string, points: number[]}[], foot: number}} GroupPlane */

const HEAD = 24;
const GAP = 8;
const WIDEST_CARD = 236;

/** Limits of the distance between nodes, px at scale 1. Names of messages in flight are there, so it uses the width that two full cards leave. */
const NARROWEST_GUTTER = 84;
const WIDEST_GUTTER = 172;

/** Room around the leader's card inside its node, px at scale 1: a badge is on its upper edge. */
const LEADER_TOP = 14;
const LEADER_FOOT = 10;

/** Distance of dials without cards; and where the picture must be low, px at scale 1. */
const DIAL_PX = 21;
const SMALL_DIAL_PX = 14;

/** A node's outline is drawn half outside its box, px. */
const EDGE = 1;

/**
 * @param {{width: number, scale: number, nodes: string[], clients: import("../model/groups.js").Client[], home: string | null, pairs: string[][], compact?: boolean}} given
 *   home: the node of the leader, or of the dead one whose claim is still valid; pairs: nodes that are joined by a link; compact: the leader is lower, dials of many clients are smaller
 * @returns {GroupPlane}
 */
export function makeGroupPlane({ width, scale, nodes, clients, home, pairs, compact = false }) {
  const turned = width < ONE_COLUMN_BELOW_PX;
  const k = turned ? 1 : scale;
  const leader_size = { width: turned ? width - 2 * 12 : 224 * k, height: (compact ? 90 : 104) * k };
  const at = (node) => clients.filter((client) => client.node === node);
  const made = turned ? oneColumn(width, k, nodes, at, home, leader_size) : aroundLeader(width, k, nodes, at, home, leader_size, compact ? SMALL_DIAL_PX : DIAL_PX);
  return { width, scale: k, turned, home, ...made, trunks: trunksOf(made, pairs, home, k, turned) };
}

function aroundLeader(width, k, nodes, at, home, size, dial) {
  const beside = (width - size.width) / 2;
  const room = beside - (WIDEST_CARD + 2 * GAP) * k;
  const gutter = nodes.length > 1 ? Math.max(NARROWEST_GUTTER * k, Math.min(WIDEST_GUTTER * k, room)) : 44 * k;
  const side = beside - gutter;
  const leader_x = side + gutter;
  if (nodes.length === 1) return oneNode(width, k, nodes[0], at(nodes[0]), { side, gutter, size, dial });
  const columns = [[], []];
  nodes.forEach((node, place) => columns[place % 2].push(node));
  for (const column of columns) if (column.includes(home)) column.sort((a, b) => Number(b === home) - Number(a === home));
  const places = [];
  const with_leader = size.height + (LEADER_TOP + LEADER_FOOT) * k;
  let foot = with_leader;
  columns.forEach((column, which) => {
    let y = EDGE;
    for (const node of column) {
      const x = which === 0 ? EDGE : width - side;
      const height = Math.max(node === home ? with_leader : 0, heightOf(at(node), side, k, dial));
      const made = nodePlace(node, { x, y, width: side - EDGE, height }, at(node), k, { dial, to_the_right: which === 0 });
      places.push(node === home ? { ...made, box: withLeader(made.box, leader_x, size.width, k) } : made);
      y += height + 14 * k;
    }
    foot = Math.max(foot, y - 14 * k);
  });
  const at_home = places.find(({ name }) => name === home);
  const spare = (at_home?.box.height ?? with_leader) - size.height;
  const y = EDGE + Math.max(LEADER_TOP * k, Math.min(26 * k, spare / 2));
  return { nodes: places, leader: { x: leader_x, y: Math.min(y, EDGE + spare - LEADER_FOOT * k), ...size }, foot };
}

/** Extends the node of the leader so that it encloses the leader. */
function withLeader(box, leader_x, leader_width, k) {
  const x = Math.min(box.x, leader_x - 12 * k);
  return { ...box, x, width: Math.max(box.x + box.width, leader_x + leader_width + 12 * k) - x };
}

/** A single node: one enclosure, with clients left and right of the leader. */
function oneNode(width, k, name, clients, { side, gutter, size, dial }) {
  const half = Math.ceil(clients.length / 2);
  const sides = [clients.slice(0, half), clients.slice(half)];
  const dense = half > CARDS_MAX;
  const height = Math.max(size.height + 34 * k, ...sides.map((some) => heightOf(some, side - 12 * k, k, dial)));
  const cards = sides.flatMap((some, which) => cardsIn({ x: which === 0 ? 0 : width - side + 12 * k, y: EDGE, width: side - 12 * k, height }, some, k, { dial, to_the_right: which === 0 }));
  return { nodes: [{ name, box: { x: EDGE, y: EDGE, width: width - 2 * EDGE, height }, cards, dense }], leader: { x: side + gutter, y: 24 * k, ...size }, foot: EDGE + height };
}

function oneColumn(width, k, nodes, at, home, size) {
  const places = [];
  const order = [...nodes].sort((a, b) => Number(b === home) - Number(a === home));
  let y = EDGE;
  let leader = { x: 12, y: EDGE, ...size };
  if (home === null) y = size.height + 12;
  for (const node of order) {
    const extra = node === home ? size.height + 14 : 0;
    const height = heightOf(at(node), width, k, DIAL_PX) + extra;
    const place = nodePlace(node, { x: EDGE, y, width: width - 2 * EDGE, height }, at(node), k, { extra });
    if (node === home) leader = { x: 12, y: y + HEAD + 4, ...size };
    places.push(place);
    y += height + 30;
  }
  return { nodes: places, leader, foot: y - 30 };
}

const cardSize = (width, k) => ({ columns: Math.max(1, Math.floor((width - GAP * k) / (146 * k))), height: 56 * k });

function heightOf(clients, width, k, dial) {
  if (clients.length === 0) return (HEAD + 16) * k;
  if (clients.length > CARDS_MAX) return HEAD * k + Math.ceil(clients.length / Math.floor((width - 16 * k) / (dial * k))) * dial * k + GAP * k;
  const { height, columns } = cardSize(width, k);
  const used = clients.length <= 2 ? 1 : columns;
  return HEAD * k + Math.ceil(clients.length / used) * (height + GAP * k) + GAP * k;
}

function nodePlace(name, box, clients, k, { extra = 0, dial = DIAL_PX, to_the_right = false }) {
  return { name, box, cards: cardsIn({ ...box, y: box.y + extra, height: box.height - extra }, clients, k, { dial, to_the_right }), dense: clients.length > CARDS_MAX };
}

/** Cards are at their node's side towards the leader; many clients are drawn as dials in rows. */
function cardsIn(box, clients, k, { dial, to_the_right }) {
  if (clients.length > CARDS_MAX) {
    const pitch = dial * k;
    const across = Math.floor((box.width - 16 * k) / pitch);
    return clients.map((client, place) => ({ client: client.name, x: box.x + 8 * k + (place % across) * pitch, y: box.y + HEAD * k + Math.floor(place / across) * pitch, width: pitch, height: pitch }));
  }
  const { height, columns } = cardSize(box.width, k);
  const used = clients.length <= 2 ? 1 : columns;
  const width = Math.min(WIDEST_CARD * k, (box.width - GAP * k * (used + 1)) / used);
  const spare = to_the_right ? box.width - used * (width + GAP * k) - GAP * k : 0;
  return clients.map((client, place) => ({
    client: client.name,
    x: box.x + spare + GAP * k + (place % used) * (width + GAP * k),
    y: box.y + HEAD * k + Math.floor(place / used) * (height + GAP * k),
    width,
    height,
  }));
}

/** The links between nodes: those of the leader's node end at the leader, others at the node. Points of a cubic curve, from a to b. */
function trunksOf({ nodes, leader }, pairs, home, k, turned) {
  const place = (name) => nodes.find((node) => node.name === name)?.box;
  return pairs.flatMap(([a, b]) => {
    const [from, to] = b === home ? [b, a] : [a, b];
    const one = from === home && !turned ? leader : place(from);
    const other = place(to);
    return one && other ? [{ a: from, b: to, points: curve(one, other, k) }] : [];
  });
}

function curve(one, other, k) {
  const [right, left] = one.x + one.width <= other.x ? [1, 0] : other.x + other.width <= one.x ? [0, 1] : [0, 0];
  const middle = (box) => box.y + Math.min(box.height / 2, 66 * k);
  if (right || left) {
    const x0 = right ? one.x + one.width : one.x;
    const x3 = right ? other.x : other.x + other.width;
    const pull = (x3 - x0) / 2;
    return [x0, middle(one), x0 + pull, middle(one), x3 - pull, middle(other), x3, middle(other)];
  }
  const down = one.y < other.y;
  const x = Math.max(one.x, other.x) + Math.min(one.width, other.width) * 0.82;
  const y0 = down ? one.y + one.height : one.y;
  const y3 = down ? other.y : other.y + other.height;
  return [x, y0, x, (y0 + y3) / 2, x, (y0 + y3) / 2, x, y3];
}

/**
 * Places the tapes of a group's streams below its nodes, and chooses which of their messages are in view.
 * Too many tapes are folded to strips. Numbers only, px.
 */

/** Widest and narrowest message, px; number of messages shown before the first cursor. */
const WIDEST_PX = 18;
const NARROWEST_PX = 0.5;
const PAST = 5;
/** Duplicates among this number of newest messages stay in view. */
const HARM_SHOWN = 300;

/** @typedef {{tape: import("../model/groups.js").Tape, x0: number, x1: number, room: number, y: number, words: number, height: number, body: number, unit_px: number, beside: boolean, first: number}} TapeRow room: width right of x1, for its readers; words: height for its name above it; body: height of one of its strips; first: the offset at x0 */
/** @typedef {{fold: object, counts: string[], x: number, y: number, width: number, height: number}} StripRow */

/**
 * @param {import("../model/groups.js").Tape[]} tapes
 * @param {{width: number, scale: number, turned: boolean, top: number, compact?: boolean}} plane compact: labels of crashes are beside their lines
 * @returns {{rows: TapeRow[], tall: boolean, foot: number}}
 */
export function layTapes(tapes, { width, scale: k, turned, top, compact = false }) {
  const tall = tapes.length <= TALL_TAPES_MAX;
  const x0 = turned ? 0 : 168 * k;
  const x1 = turned ? width : width - 132 * k;
  const body = (tall ? (compact ? 10 : 12) : 7) * k;
  const needed = Math.max(20, ...tapes.map((tape) => tape.length - firstOf(tape) + 1));
  const unit_px = Math.max(NARROWEST_PX, Math.min(WIDEST_PX * k, (x1 - x0) / needed));
  let y = top;
  const rows = tapes.map((tape) => {
    const strips = 1 + Math.max(1, tape.readers.length);
    // its name, and two lines between for the names of cursors; the number of duplicates is above their bar
    const words = (turned ? (tall ? 62 : 22) : 0) + (tall && tape.duplicates.length ? 19 * k : 0);
    const height = words + strips * (body + 1) + (tall ? (isOver(tape) ? 16 : compact ? 22 : 38) * k : 10 * k);
    const room = (x1 - x0) / unit_px;
    const first = Math.max(0, Math.min(firstOf(tape), Math.max(0, tape.length - Math.floor(room))));
    const row = { tape, x0, x1, room: width - x1, y: y + words, words, height: height - words, body, unit_px, beside: compact, first: tape.length - firstOf(tape) > room ? firstOf(tape) : first };
    y += height;
    return row;
  });
  return { rows, tall, foot: y };
}

/** The first offset that is drawn: a few messages before the committed one, or before the oldest duplicate that is not too far back. */
function firstOf({ committed, duplicates, length, readers }) {
  const present = Math.min(committed, ...readers.map((one) => one.acknowledged));
  const harm = duplicates.find(([first]) => length - first <= HARM_SHOWN)?.[0] ?? present;
  return Math.max(0, Math.min(present, harm) - PAST);
}

/** @returns {number} x of an offset's left edge, limited to the tape */
export const xAt = ({ x0, x1, unit_px, first }, offset) => Math.min(x1, Math.max(x0, x0 + (offset - first) * unit_px));

/** @returns {boolean} whether the tapes must be folded to strips */
export const foldsNeeded = (tapes) => tapes.length > TAPES_MAX;

/**
 * @param {object[]} folds results of `foldsOf`
 * @param {{width: number, scale: number, turned: boolean, top: number, compact?: boolean}} plane compact: strips are lower
 * @returns {{strips: StripRow[], label: number, foot: number, cell: number}} label: width of a strip's name
 */
export function layStrips(folds, { width, scale: k, turned, top, compact = false }) {
  const many = folds.length > 24;
  const columns = many ? (turned ? 2 : 5) : 1;
  const pitch = (many ? 17 : compact ? 20 : 34) * k;
  const label = (many ? 46 : 92) * k;
  const gap = 14 * k;
  const column = (width - gap * (columns - 1)) / columns;
  const down = Math.ceil(folds.length / columns);
  const tail = many ? 0 : (turned ? 0 : 300) * k;
  const strips = folds.map((fold, at) => ({ fold, counts: countsOfFold(fold).map(([text]) => text), x: Math.floor(at / down) * (column + gap) + label, y: top + (at % down) * pitch, width: column - label - tail, height: (many || compact ? 11 : 18) * k }));
  const most = Math.max(1, ...folds.map((fold) => fold.tapes.length));
  return { strips, label, foot: top + down * pitch + 4 * k, cell: Math.min(22 * k, Math.max(1, (column - label - tail) / most)) };
}

/** Finds the thing under the pointer in a group lab's picture; smaller things first. Numbers only. */

/** Largest distance of the pointer from a message in flight, px. */
const REACH_PX = 12;

const inside = (box, x, y) => x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height;

/**
 * @param {object} scene of the group stage
 * @param {{flight: object, x: number, y: number}[]} places of the messages in flight
 * @returns {object | null} {kind: "flight" | "client" | "leader" | "message" | "stream" | "fold" | "node", …}
 */
export function groupThingAt({ plane, laid }, places, x, y) {
  const near = places.reduce((/** @type {{flight: object, far: number} | null} */ best, place) => {
    const far = Math.hypot(place.x - x, place.y - y);
    return far <= REACH_PX && (!best || far < best.far) ? { ...place, far } : best;
  }, null);
  if (near) return { kind: "flight", flight: near.flight };
  for (const node of plane.nodes) for (const card of node.cards) if (inside(card, x, y)) return { kind: "client", client: card.client };
  if (inside(plane.leader, x, y)) return { kind: "leader" };
  const row = laid.rows?.find((one) => y >= one.y - 4 && y <= one.y + one.height - 8);
  if (row) return onTape(row, x, y);
  const strip = laid.strips?.find((one) => y >= one.y - 4 && y <= one.y + one.height + 4 && x >= one.x - laid.label && x <= one.x + one.width);
  if (strip) return { kind: "fold", key: strip.fold.key, counts: strip.counts };
  const node = plane.nodes.find(({ box }) => inside(box, x, y));
  return node ? { kind: "node", node: node.name } : null;
}

/** A chunk that is delivered and not acked; else a message, where messages are drawn apart; else the stream. */
function onTape(row, x, y) {
  const { tape, body } = row;
  const stream = { kind: "stream", stream: tape.name };
  if (x < row.x0 || x > xAt(row, tape.length)) return stream;
  const offset = Math.floor(row.first + (x - row.x0) / row.unit_px);
  const reader = tape.readers[Math.floor((y - row.y) / (body + 1)) - 1];
  if (reader?.chunk && offset >= reader.chunk[0] && offset < reader.chunk[1]) return { kind: "chunk", stream: tape.name, reader: reader.id, offset };
  return row.unit_px >= 4 ? { kind: "message", stream: tape.name, offset } : stream;
}
