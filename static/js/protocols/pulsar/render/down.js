/** Draws hatching over the strip of a cluster that is not up; its content stays readable. */

import { markAs } from "../../../render/marks.js";

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
