/** Draws an outline around the entries of a highlighted causal cone, in ink whatever the entry's own colour is. */

import { indexOf, parsePosition } from "../model/positions.js";
import { markAs } from "../../../render/marks.js";
import { farEdge, nearEdge } from "../layout/strip.js";

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
