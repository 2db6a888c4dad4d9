/**
 * Computes the plane of the lanes: the position of each log and the sizes of its parts. Numbers only, in px.
 * Two axes, so that the diagram can turn a quarter: `along` grows from the oldest entry to the newest, `offset` grows from a
 * strip's far side (0) through its body (cell height) to the rail and the labels beyond it. Landscape: along is x and
 * offset is down. Turned (narrow pages): along is y and offset runs to the left, so that labels are left of a column.
 */

/** Pictures narrower than this are turned, in px. */
export const TURN_BELOW_PX = 800;

/**
 * @typedef {object} Plane
 * @property {boolean} turned
 * @property {number} width of the whole picture
 * @property {number} height
 * @property {number} scale 1, or larger on a projector
 * @property {number} a0 where strips begin, along
 * @property {number} a1 where strips end: the newest entry's far edge
 * @property {number} port where links begin, along
 * @property {number} cell breadth of a strip
 * @property {number} lift how far an individually held message is raised
 * @property {number} flags width beside a turned lane for the flags of its peers; 0 where they are above the strip
 * @property {{name: string, base: number}[]} lanes base: offset 0 on the cross axis
 */

/**
 * @param {{width: number, scale: number, names: string[], room: number, large?: boolean}} given room: height available for the picture; large: strips are broader
 * @returns {Plane}
 */
export function makePlane({ width, scale, names, room, large = false }) {
  return width < TURN_BELOW_PX ? turnedPlane(width, names, room) : landscapePlane(width, scale, names, room, large);
}

/** Limits of the distance between two lanes: it must fit a rail, a bracket and its label, and should waste no space. */
const NARROWEST_PITCH_PX = 92;
const WIDEST_PITCH_PX = 136;
/** Breadth of a strip, how much more a large one has, and how much more distance and room above it. */
const CELL_PX = 30;
const LARGER_PX = 22;
/** From a strip's far side to the label under its bracket. */
export const WORDS_PX = 39;
/** Under the last strip: rail, pin, bracket and their labels. */
const FOOT_PX = WORDS_PX + 17;

function landscapePlane(width, scale, names, room, large) {
  const more = large ? LARGER_PX : 0;
  const cell = (CELL_PX + more) * scale;
  const top = (56 + more) * scale;
  const wanted = (room - top - cell - FOOT_PX * scale) / Math.max(1, names.length - 1);
  const pitch = Math.min((WIDEST_PITCH_PX + 4 * more) * scale, Math.max((NARROWEST_PITCH_PX + more) * scale, wanted));
  const lanes = names.map((name, at) => ({ name, base: top + at * pitch }));
  const a1 = width - marginForLinks(names.length) * scale;
  return {
    turned: false,
    width,
    height: top + (names.length - 1) * pitch + cell + FOOT_PX * scale,
    scale,
    a0: 148 * scale,
    a1,
    port: a1 + 14 * scale,
    cell,
    lift: 8 * scale,
    flags: 0,
    lanes,
  };
}

function turnedPlane(width, names, room) {
  const cell = names.length > 3 ? 22 : 31;
  const column = width / names.length;
  const flags = FLAG_PX + FLAG_STEP_PX * (Math.min(FLAG_LEVELS, Math.max(1, names.length - 1)) - 1);
  const lanes = names.map((name, at) => ({ name, base: (at + 1) * column - flags }));
  const links = names.length > 1 ? 34 + reachOf(names.length - 1, true) : 20;
  return { turned: true, width, height: room, scale: 1, a0: HEADING_PX, a1: room - links, port: room - links + 10, cell, lift: 7, flags, lanes };
}

/** Above a turned lane: its name and its consumers as buttons large enough for a finger, with a line of text between. */
const HEADING_PX = 78;

/** Right of a turned lane: distance of the first flag, distance of each further one, and how many fit side by side. */
export const FLAG_PX = 12;
export const FLAG_STEP_PX = 10;
export const FLAG_LEVELS = 3;

/** How far a link's arc extends from the ports: wider for lanes that are farther apart, one direction outside the other. */
export const reachOf = (lanes_apart, outer) => 20 + 44 * (lanes_apart - 1) + (outer ? 18 : 0);

const marginForLinks = (lanes) => (lanes < 2 ? 96 : 14 + reachOf(lanes - 1, true) + 68);

/** @returns {number} x in px of a point of a lane */
export const xOf = (plane, lane, along, offset) => (plane.turned ? lane.base - offset : along);

/** @returns {number} y in px of a point of a lane */
export const yOf = (plane, lane, along, offset) => (plane.turned ? along : lane.base + offset);

/** Fills a box of a lane; the hot path of the page, so no object is made. */
export function fillBox(context, plane, lane, along, offset, length, breadth) {
  if (plane.turned) context.fillRect(lane.base - offset - breadth, along, breadth, length);
  else context.fillRect(along, lane.base + offset, length, breadth);
}

/** Computes the arcs of the links between lanes, one per direction, and the position of a message on an arc. Px only. */

/** @typedef {{name: string, from: string, to: string, outer: boolean, points: number[]}} Arc points: x0 y0 x1 y1 x2 y2 x3 y3 of a cubic curve */

/**
 * @param {Plane} plane
 * @param {string[]} names "a -> b"
 * @returns {Arc[]}
 */
export function layLinks(plane, names) {
  const arcs = [];
  for (const name of names) {
    const [from, to] = name.split(" -> ");
    const i = plane.lanes.findIndex((lane) => lane.name === from);
    const j = plane.lanes.findIndex((lane) => lane.name === to);
    if (i < 0 || j < 0) continue;
    arcs.push({ name, from, to, outer: i > j, points: arcPoints(plane, plane.lanes[i], plane.lanes[j], Math.abs(i - j), i > j) });
  }
  return arcs;
}

function arcPoints(plane, one, other, lanes_apart, outer) {
  const reach = (reachOf(lanes_apart, outer) * plane.scale * 4) / 3;
  const middle = plane.cell / 2;
  const side = plane.turned ? -middle : middle;
  const c0 = one.base + side;
  const c3 = other.base + side;
  const c1 = c0 + (c3 - c0) * 0.18;
  const c2 = c0 + (c3 - c0) * 0.82;
  const along = [plane.port, plane.port + reach, plane.port + reach, plane.port];
  const across = [c0, c1, c2, c3];
  return along.flatMap((a, at) => (plane.turned ? [across[at], a] : [a, across[at]]));
}

/** @returns {[x: number, y: number]} the point at share `s` of the arc (0: the sender, 1: the receiver) */
export function pointOn(points, s) {
  const r = 1 - s;
  const a = r * r * r;
  const b = 3 * r * r * s;
  const c = 3 * r * s * s;
  const d = s * s * s;
  return [a * points[0] + b * points[2] + c * points[4] + d * points[6], a * points[1] + b * points[3] + c * points[5] + d * points[7]];
}

/** @returns {number} share of the link that a message in flight has covered at an instant, 0 to 1 */
export function shareOf(flight, at_us) {
  const whole_us = flight.due_us - flight.sent_us;
  if (whole_us <= 0) return 1;
  return Math.min(1, Math.max(0, (at_us - flight.sent_us) / whole_us));
}
