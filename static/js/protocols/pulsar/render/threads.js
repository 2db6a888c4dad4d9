/**
 * Draws a snapshot as a thread from lane to lane with a closing bracket at each position, which is included.
 * Soft: applied. Solid: ready. Dashed: being built, with a loose end at the head of the region that requested it. Crossed: timed out or
 * evicted. The area left of the applied thread has a wash: acked in every lane of the snapshot.
 */

import { farEdge } from "../layout/strip.js";
import { xOf, yOf } from "../../../layout/plane.js";
import { glyph } from "../../../render/glyphs.js";
import { markAs } from "../../../render/marks.js";

const LOOKS = {
  applied: { colour: "soft", dash: [] },
  used: { colour: "proto", dash: [8, 3] },
  ready: { colour: "proto", dash: [] },
  finished: { colour: "proto", dash: [1, 3] },
  building: { colour: "proto", dash: [4, 4] },
  "timed-out": { colour: "harm", dash: [2, 3] },
  evicted: { colour: "soft", dash: [2, 3] },
};

/** Number of points that are checked along one bend. */
const SAMPLES = 12;

/** Offsets at which a thread enters and leaves a lane. */
function ends(plane) {
  const far = plane.cell + 9 * plane.scale;
  const near = -8 * plane.scale;
  return plane.turned ? { enter: far, leave: near } : { enter: near, leave: far };
}

/**
 * The lanes and positions of a thread, in order. A thread being built starts at the head of the region that requested it.
 * @returns {{lane: object, along: number, loose: boolean}[]}
 */
export function pointsOf(scene, thread) {
  const { plane, watched } = scene;
  const points = [];
  for (const lane of plane.lanes) {
    const { strip } = scene.lanes[lane.name];
    const index = thread.index[lane.name];
    if (index !== undefined) {
      const along = farEdge(strip, index) - 0.5;
      if (along < plane.a0 - 30) return [];
      points.push({ lane, along: Math.max(along, plane.a0 - 6), loose: false });
    } else if (thread.state === "building" && lane.name === watched.subject) {
      points.push({ lane, along: plane.port, loose: true });
    }
  }
  return points;
}

export function drawWash(context, scene, theme) {
  const used = scene.threads.find((thread) => thread.state === "applied");
  const points = used ? pointsOf(scene, used) : [];
  if (points.length < 2) return;
  const { plane } = scene;
  const first = points[0];
  const last = points[points.length - 1];
  const before = plane.turned ? plane.cell + 34 : -24 * plane.scale;
  const after = plane.turned ? -8 : plane.cell + 22 * plane.scale;
  markAs(context, "wash");
  context.fillStyle = theme.ink.sunk;
  context.beginPath();
  moveTo(context, plane, first.lane, plane.a0 - 8, before);
  lineTo(context, plane, first.lane, first.along, before);
  trace(context, plane, points);
  lineTo(context, plane, last.lane, last.along, after);
  lineTo(context, plane, last.lane, plane.a0 - 8, after);
  context.closePath();
  context.fill();
}

export function drawThreads(context, scene, theme, lit) {
  for (const thread of scene.threads) {
    const points = pointsOf(scene, thread);
    if (points.length === 0) continue;
    const look = LOOKS[thread.state];
    context.save();
    context.strokeStyle = theme.ink[look.colour];
    context.lineWidth = theme.thread * (lit?.snapshots.has(thread.snapshot) ? 2 : 1);
    const { plane } = scene;
    if (thread.decided) glow(context, plane, points, theme);
    markAs(context, `thread-${thread.state}`);
    context.setLineDash(look.dash);
    context.beginPath();
    const { enter } = ends(plane);
    if (!points[0].loose) moveTo(context, plane, points[0].lane, points[0].along, plane.turned ? enter : -22 * plane.scale);
    else moveTo(context, plane, points[0].lane, points[0].along, plane.cell / 2);
    trace(context, plane, points);
    context.stroke();
    context.setLineDash([]);
    markAs(context, "thread-bracket");
    for (const point of points) if (!point.loose) bracket(context, plane, point);
    markAs(context, `thread-${thread.state}`);
    if (thread.state === "timed-out" || thread.state === "evicted") cross(context, scene, points, theme);
    context.restore();
  }
}

/** Draws a broad pale stroke under the thread of the last update's snapshot. */
function glow(context, plane, points, theme) {
  const { enter } = ends(plane);
  markAs(context, "last-update");
  context.save();
  context.strokeStyle = theme.ink.wash;
  context.lineWidth = theme.thread * 6;
  context.setLineDash([]);
  context.beginPath();
  if (points[0].loose) moveTo(context, plane, points[0].lane, points[0].along, plane.cell / 2);
  else moveTo(context, plane, points[0].lane, points[0].along, plane.turned ? enter : -22 * plane.scale);
  trace(context, plane, points);
  context.globalCompositeOperation = "destination-over";
  context.stroke();
  context.restore();
}

/** Small boxes along the bends between the lanes, which labels should not cover. */
export function threadBoxes(scene) {
  const { plane } = scene;
  const { enter, leave } = ends(plane);
  const boxes = [];
  for (const thread of scene.threads) {
    pointsOf(scene, thread).forEach((point, at, points) => {
      if (at === 0) return;
      const before = points[at - 1];
      const from = { x: xOf(plane, before.lane, before.along, leave), y: yOf(plane, before.lane, before.along, leave) };
      const to = { x: xOf(plane, point.lane, point.along, enter), y: yOf(plane, point.lane, point.along, enter) };
      for (let step = 0; step <= SAMPLES; step++) {
        const share = step / SAMPLES;
        const eased = share * share * (3 - 2 * share); // close enough to the shape of the bends
        const [x, y] = plane.turned ? [from.x + (to.x - from.x) * share, from.y + (to.y - from.y) * eased] : [from.x + (to.x - from.x) * eased, from.y + (to.y - from.y) * share];
        boxes.push({ x: x - 1, y: y - 1, width: 2, height: 2 });
      }
    });
  }
  return boxes;
}

/** Straight within each lane and bent between lanes, so that a thread does not cross the entries of another strip. */
function trace(context, plane, points) {
  const { enter, leave } = ends(plane);
  points.forEach((point, at) => {
    if (at > 0) {
      const before = points[at - 1];
      const from = before.loose ? plane.cell / 2 : leave;
      const to = point.loose ? plane.cell / 2 : enter;
      bend(context, plane, before, from, point, to);
    }
    if (!point.loose) lineTo(context, plane, point.lane, point.along, leave);
  });
}

function bend(context, plane, before, from, point, to) {
  const cross = plane.turned ? xOf : yOf;
  const c0 = cross(plane, before.lane, before.along, from);
  const c3 = cross(plane, point.lane, point.along, to);
  const c1 = c0 + (c3 - c0) * 0.55;
  const c2 = c3 - (c3 - c0) * 0.55;
  if (plane.turned) context.bezierCurveTo(c1, before.along, c2, point.along, c3, point.along);
  else context.bezierCurveTo(before.along, c1, point.along, c2, point.along, c3);
}

function bracket(context, plane, { lane, along }) {
  const arm = 6 * plane.scale;
  context.beginPath();
  for (const offset of [-5 * plane.scale, plane.cell + 2 * plane.scale]) {
    moveTo(context, plane, lane, along - arm, offset);
    lineTo(context, plane, lane, along, offset);
  }
  context.stroke();
}

function cross(context, scene, points, theme) {
  const { plane } = scene;
  const one = points[0];
  const other = points[1] ?? one;
  const x = (xOf(plane, one.lane, one.along, plane.cell / 2) + xOf(plane, other.lane, other.along, plane.cell / 2)) / 2;
  const y = (yOf(plane, one.lane, one.along, plane.cell / 2) + yOf(plane, other.lane, other.along, plane.cell / 2)) / 2;
  const at = points.length > 1 ? [x, y] : [x, yOf(plane, one.lane, one.along, plane.turned ? 0 : -16 * plane.scale)];
  glyph(context, "cross", at[0], at[1], 4 * plane.scale, theme.ink.harm, theme.ink.bg);
}

const moveTo = (context, plane, lane, along, offset) => context.moveTo(xOf(plane, lane, along, offset), yOf(plane, lane, along, offset));
const lineTo = (context, plane, lane, along, offset) => context.lineTo(xOf(plane, lane, along, offset), yOf(plane, lane, along, offset));
