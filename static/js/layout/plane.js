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
