/**
 * Draws the static part of the lanes, from back to front: wash, strips, rails, threads, labels.
 */

import { densityOf } from "../model/density.js";
import { PRIORITY, drawLabels, leftOut, makeMeasure, placeLabels } from "../../../render/labels.js";
import { flagBoxes } from "../layout/pins.js";
import { prepared } from "../../../render/canvas.js";
import { markAs, paintWithChosen } from "../../../render/marks.js";
import { drawDown } from "./down.js";
import { drawLedgers } from "./ledgers.js";
import { drawLit } from "./lit.js";
import { drawOnly } from "./only.js";
import { labelRequests } from "./label_requests.js";
import { drawArcs } from "./links.js";
import { drawPrediction } from "./prediction.js";
import { bracketBoxes, drawBrackets, drawFlags, drawPins, drawRail, drawDuplicates } from "./rails.js";
import { drawShares, drawStrip } from "./strip.js";
import { drawThreads, drawWash, threadBoxes } from "./threads.js";

/**
 * @param {HTMLCanvasElement} canvas
 * @param {import("../layout/scene.js").Scene} scene
 * @param {import("../../../model/state.js").LabState & import("../model/folds.js").PulsarState} state
 * @param {import("../../../render/theme.js").Theme} theme
 * @param {{ratio: number, tiles: (cluster: string) => ((from: number, to: number) => object | null) | null, lit: import("../../../pages/lights.js").Lit | null, chosen?: import("../../../render/marks.js").Chosen | null, prediction?: import("./prediction.js").Prediction | null}} given
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
