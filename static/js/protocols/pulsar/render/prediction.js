/** Draws what a tour asks for: a dashed frame around the lane in which a position is chosen, and a dashed line at the chosen one. */

import { farEdge } from "../layout/strip.js";
import { xOf, yOf } from "../../../layout/plane.js";
import { markAs } from "../../../render/marks.js";

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
