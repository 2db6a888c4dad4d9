/**
 * Draws the static part of the lanes, from back to front: wash, strips, rails, threads, labels.
 */

import { fillBox, xOf, yOf } from "../../../layout/plane.js";
import { farEdge, flagBoxes, nearEdge } from "../layout/strip.js";
import { densityOf } from "../model/tiles.js";
import { indexOf, parsePosition } from "../model/positions.js";
import { labelRequests } from "./label_requests.js";
import { drawLedgers } from "./ledgers.js";
import { drawArcs } from "./links.js";
import { bracketBoxes, drawBrackets, drawDuplicates, drawFlags, drawPins, drawRail } from "./rails.js";
import { drawShares, drawStrip } from "./strip.js";
import { drawThreads, drawWash, threadBoxes } from "./threads.js";
import { prepared } from "../../../render/canvas.js";
import { PRIORITY, drawLabels, leftOut, makeMeasure, placeLabels } from "../../../render/labels.js";
import { markAs, paintWithChosen } from "../../../render/marks.js";

/** Draws hatching over the strip of a cluster that is not up; its content stays readable. */

export function drawDown(context, scene, lane, theme) {
  const { plane } = scene;
  if (scene.lanes[lane.name].state === "up") return;
  const [x, y, width, height] = plane.turned
    ? [lane.base - plane.cell - 4, plane.a0, plane.cell + 8, plane.a1 - plane.a0]
    : [plane.a0 - 8, lane.base - 10 * plane.scale, plane.a1 - plane.a0 + 8, plane.cell + 14 * plane.scale];
  markAs(context, "down");
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.globalAlpha = 0.5;
  context.fillStyle = theme.ink.bg;
  context.fillRect(x, y, width, height);
  context.globalAlpha = 0.6;
  context.strokeStyle = theme.ink.strong;
  context.lineWidth = 1;
  context.beginPath();
  const reach = height + width;
  for (let at = 0; at < reach; at += 7) {
    context.moveTo(x + at, y);
    context.lineTo(x + at - height, y + height);
  }
  context.stroke();
  context.restore();
}

/** Draws an outline around the entries of a highlighted causal cone, in ink whatever the entry's own colour is. */

/** @param {import("../../../pages/lights.js").Lit | null} lit */
export function drawLit(context, scene, lane, theme, lit) {
  const { plane, watched } = scene;
  const { strip, topic } = scene.lanes[lane.name];
  const places = lit?.entries[`${lane.name}/${watched.topic}`];
  if (!places || !topic) return;
  markAs(context, "lit");
  context.strokeStyle = theme.ink.ink;
  context.lineWidth = 1.6 * plane.scale;
  for (const place of places) {
    const index = indexOf(topic.ledgers, parsePosition(place));
    if (index === null || index < strip.from || index >= strip.to) continue;
    const from = Math.max(plane.a0 - 4, nearEdge(strip, index));
    const length = Math.max(3, farEdge(strip, index) - from);
    const [x, y] = plane.turned ? [lane.base - plane.cell, from] : [from, lane.base];
    const [width, height] = plane.turned ? [plane.cell, length] : [length, plane.cell];
    context.strokeRect(x - 1.5, y - 3, width + 2, height + 6);
  }
}

/** Draws a bar over the entries of which only this run of two has an event or message, on the page of two runs. */

/** Height of the bar and its distance from the cells, px at scale 1. */
const BAR_PX = 4;
const GAP_PX = 3;

export function drawOnly(context, scene, lane, theme) {
  const { plane, watched, only } = scene;
  const { strip, topic } = scene.lanes[lane.name];
  const ranges = only?.[`${lane.name}/${watched.topic}`];
  if (!ranges || !topic) return;
  markAs(context, "only-here");
  context.fillStyle = theme.ink.ink;
  for (const [ledger, first, last] of ranges) {
    const from = indexOf(topic.ledgers, { ledger, entry: first });
    if (from === null || from >= strip.to || from + last - first < strip.from) continue;
    const begin = Math.max(plane.a0, nearEdge(strip, from));
    const end = Math.min(plane.a1, farEdge(strip, Math.min(strip.to - 1, from + last - first)));
    fillBox(context, plane, lane, begin, -plane.lift - (GAP_PX + BAR_PX) * plane.scale, Math.max(2, end - begin - 1), BAR_PX * plane.scale);
  }
}

/** Draws what a tour asks for: a dashed frame around the lane in which a position is chosen, and a dashed line at the chosen one. */

/** @typedef {{asked: string | null, cluster: string | null, index: number | null}} Prediction asked: the lane in which a click chooses; cluster and index: the chosen position */

/** @param {Prediction | null} prediction */
export function drawPrediction(context, scene, theme, prediction) {
  if (!prediction) return;
  const { plane } = scene;
  markAs(context, "prediction");
  context.save();
  context.strokeStyle = theme.ink.ink;
  for (const lane of plane.lanes) {
    const { strip } = scene.lanes[lane.name];
    if (lane.name === prediction.asked) {
      const begin = Math.max(plane.a0, strip.fine && strip.edges.length ? strip.edges[0] : plane.a0) - 5;
      context.lineWidth = 1;
      context.setLineDash([5, 4]);
      frame(context, plane, lane, begin, plane.a1 + 5);
    }
    if (lane.name !== prediction.cluster || prediction.index === null) continue;
    const along = farEdge(strip, prediction.index);
    if (along < plane.a0 - 1 || along > plane.a1 + 1) continue;
    context.lineWidth = 2 * plane.scale;
    context.setLineDash([4 * plane.scale, 3 * plane.scale]);
    line(context, plane, lane, along, -plane.lift - 5 * plane.scale, plane.cell + 14 * plane.scale);
  }
  context.restore();
}

function frame(context, plane, lane, begin, end) {
  const [low, high] = [-plane.lift - 2, plane.cell + 3];
  context.beginPath();
  [[begin, low], [end, low], [end, high], [begin, high]].forEach(([along, offset], at) => (at === 0 ? context.moveTo : context.lineTo).call(context, xOf(plane, lane, along, offset), yOf(plane, lane, along, offset)));
  context.closePath();
  context.stroke();
}

function line(context, plane, lane, along, from, to) {
  context.beginPath();
  context.moveTo(xOf(plane, lane, along, from), yOf(plane, lane, along, from));
  context.lineTo(xOf(plane, lane, along, to), yOf(plane, lane, along, to));
  context.stroke();
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {import("../layout/scene.js").Scene} scene
 * @param {import("../../../model/state.js").LabState & import("../model/folds.js").PulsarState} state
 * @param {import("../../../render/theme.js").Theme} theme
 * @param {{ratio: number, tiles: (cluster: string) => ((from: number, to: number) => object | null) | null, lit: import("../../../pages/lights.js").Lit | null, chosen?: import("../../../render/marks.js").Chosen | null, prediction?: Prediction | null}} given
 * @returns {string[]} labels for which there was no room
 */
export function paintLanes(canvas, scene, state, theme, { ratio, tiles, lit, chosen, prediction = null }) {
  const { width, height } = scene.plane;
  const given = { width, height, ground: theme.ink.bg, part: "lanes", chosen };
  return paintWithChosen(prepared(canvas, width, height, ratio), given, (context) => paintAll(context, scene, state, theme, { tiles, lit, prediction }));
}

/** By lane, from back to front. Each begins without a mark, so that a part that names none is noticed by the tests. */
const LANE_PARTS = [drawStrip, drawLedgers, drawRail, drawDown, drawDuplicates, drawBrackets, drawFlags, drawOnly, drawLit];

function paintAll(context, scene, state, theme, { tiles, lit, prediction }) {
  const { plane } = scene;
  drawWash(context, scene, theme);
  for (const lane of plane.lanes) {
    const held = scene.lanes[lane.name];
    if (!held.strip.fine) drawShares(context, scene, lane, theme, densityOf(held.store, tiles(lane.name), scene.watched.clusters.length));
    for (const draw of LANE_PARTS) {
      markAs(context, null);
      draw(context, scene, lane, theme, lit);
    }
  }
  markAs(context, null);
  drawThreads(context, scene, theme, lit);
  for (const lane of plane.lanes) drawPins(context, scene, lane, theme);
  drawPrediction(context, scene, theme, prediction);
  markAs(context, null);
  drawArcs(context, scene, theme, state.view);
  return paintLabels(context, scene, state, theme, prediction);
}

/** Names of ledgers and of the shaded area are shown where there is room only; every other label that has none is returned, in words. */
function paintLabels(context, scene, state, theme, prediction) {
  const { plane } = scene;
  const measure = makeMeasure(context, theme);
  const line = Math.round(theme.label * 1.25);
  const strips = plane.lanes.map((lane) =>
    plane.turned
      ? { x: lane.base - plane.cell, y: plane.a0, width: plane.cell, height: plane.a1 - plane.a0 }
      : { x: plane.a0, y: lane.base - plane.lift, width: plane.a1 - plane.a0, height: plane.cell + plane.lift },
  );
  const flags = plane.lanes.flatMap((lane) => flagBoxes(plane, lane, scene.lanes[lane.name].pins));
  const beside = plane.turned
    ? []
    : [
        { x: plane.a1 + 14, y: 0, width: plane.width, height: plane.height },
        { x: 0, y: 0, width: plane.a0 - 14, height: plane.height },
      ];
  const lines = [...threadBoxes(scene), ...plane.lanes.flatMap((lane) => bracketBoxes(scene, lane, theme))];
  const requests = labelRequests(scene, state, measure, line, prediction);
  const placed = placeLabels(requests, plane, [...strips, ...flags, ...beside], 6, lines);
  drawLabels(context, placed, theme, measure);
  return leftOut(requests, placed)
    .filter(({ priority }) => priority < PRIORITY.quiet)
    .map(({ of, forms }) => [...(of ? [`${of}: `] : []), ...forms[0].label.map(({ text }) => text)].join(""));
}
