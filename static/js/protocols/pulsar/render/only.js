/** Draws a bar over the entries of which only this run of two has an event or message, on the page of two runs. */

import { indexOf } from "../model/positions.js";
import { markAs } from "../../../render/marks.js";
import { fillBox } from "../../../layout/plane.js";
import { farEdge, nearEdge } from "../layout/strip.js";

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
