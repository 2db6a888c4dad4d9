/** Draws the border between two ledgers as a stroke through the strip, since entry numbers start again from 0 there. */

import { nearEdge } from "../layout/strip.js";
import { fillBox } from "../../../layout/plane.js";
import { markAs } from "../../../render/marks.js";

/** @returns {{ledger: number, along: number}[]} borders in the window, without that of the first ledger, before which there is none */
export function bordersOf(plane, { strip, topic }) {
  return (topic?.ledgers ?? [])
    .filter(([, first_index]) => first_index > strip.from && first_index <= strip.to && first_index > (topic.first_kept ?? 0))
    .map(([ledger, first_index]) => ({ ledger, along: nearEdge(strip, first_index) }))
    .filter(({ along }) => along > plane.a0);
}

export function drawLedgers(context, scene, lane, theme) {
  const { plane } = scene;
  markAs(context, "ledger");
  context.fillStyle = theme.ink.ink3;
  for (const { along } of bordersOf(plane, scene.lanes[lane.name])) {
    fillBox(context, plane, lane, along - 1.2, -11 * plane.scale, 1, plane.cell + 15 * plane.scale);
    fillBox(context, plane, lane, along - 1.2, -11 * plane.scale, 5 * plane.scale, 1);
  }
}
