/** Draws the whole logs as thin rows above the lanes, with a frame around the window. */

import { isAcknowledged } from "../model/acknowledged.js";
import { counted } from "../../../model/format.js";
import { densityOf } from "../model/tiles.js";
import { backOf } from "../layout/scene.js";
import { prepared } from "../../../render/canvas.js";
import { fontOf, ORIGINS } from "../../../render/theme.js";

const ROW_PX = 5;
const PITCH_PX = 7;
const FIRST_PX = 8;
const LOWEST_PX = 34;

/** @returns {number} the row at a position of the overview; positions below the last row give larger numbers */
export const rowAt = (y, scale) => Math.floor((y / scale - FIRST_PX + 1) / PITCH_PX);

/** @returns {{x0: number, x1: number, longest: number}} for converting a click to a position in the logs */
export function paintOverview(canvas, scene, theme, { ratio, tiles }) {
  const { plane } = scene;
  const height = Math.max(LOWEST_PX, FIRST_PX + plane.lanes.length * PITCH_PX + 5) * theme.scale;
  const context = prepared(canvas, plane.width, height, ratio);
  const x0 = plane.a0;
  const x1 = plane.a1;
  const longest = Math.max(1, ...plane.lanes.map((lane) => scene.lanes[lane.name].topic?.length ?? 0));
  plane.lanes.forEach((lane, row) => paintRow(context, scene, lane, theme, { y: (FIRST_PX + row * PITCH_PX) * theme.scale, x0, x1, longest, tiles }));
  const frame = (lanes, top, rows) => paintWindow(context, scene, theme, { lanes, x0, x1, longest, top: top * theme.scale, height: rows * PITCH_PX * theme.scale });
  if (scene.window.backs) plane.lanes.forEach((lane, row) => frame([lane], FIRST_PX + row * PITCH_PX - 1, 1));
  else frame(plane.lanes, FIRST_PX - 3, plane.lanes.length + 0.6);
  paintWords(context, scene, theme, x0, x1, longest);
  return { x0, x1, longest };
}

function paintRow(context, scene, lane, theme, { y, x0, x1, longest, tiles }) {
  const { topic, cursor, store } = scene.lanes[lane.name];
  if (!topic) return;
  const density = densityOf(store, tiles(lane.name), scene.watched.clusters.length);
  const step = Math.max(2, (x1 - x0) / longest);
  const height = ROW_PX * theme.scale;
  // rows align at the head like the strips: the newest entry of every log is at the right
  for (let x = x1; x > x0; x -= step) {
    const to = Math.round(topic.length - ((x1 - x) / (x1 - x0)) * longest);
    const from = Math.max(0, Math.min(to - 1, Math.round(topic.length - ((x1 - x + step) / (x1 - x0)) * longest)));
    if (to <= topic.first_kept) break;
    const shares = density(from, to);
    const main = shares ? shares.origins.indexOf(Math.max(...shares.origins)) : -1;
    if (shares && shares.markers > 0.9) continue;
    const done = isAcknowledged(cursor, from);
    context.fillStyle = main < 0 ? theme.ink.line : (done ? theme.done : theme.origin)[main % ORIGINS];
    context.fillRect(x - step, y, Math.max(0.5, step - (step > 3 ? 0.5 : 0)), height);
  }
  if (!cursor) return;
  const mark = x1 - ((topic.length - 1 - cursor.mark_delete_index) / longest) * (x1 - x0);
  context.fillStyle = theme.ink.ink;
  context.fillRect(mark - 0.5, y - 1.5, 1.4, height + 3);
}

/** Draws the window as a frame around the rows of these lanes: one around all, or one for each when lanes scroll independently. */
function paintWindow(context, scene, theme, { lanes, x0, x1, longest, top, height }) {
  if (lanes.length === 0) return; // a scenario without logs
  const reach = Math.max(...lanes.map((lane) => scene.lanes[lane.name].strip.to - scene.lanes[lane.name].strip.from), 1);
  const px = (x1 - x0) / longest;
  const right = x1 - backOf(scene.window, lanes[0].name) * px;
  const left = Math.max(x0, right - reach * px);
  context.strokeStyle = theme.ink.ink;
  context.lineWidth = 1.2;
  context.strokeRect(left - 1, top, Math.max(6, right - left + 2), height);
}

function paintWords(context, scene, theme, x0, x1, longest) {
  const shown = Math.max(...Object.values(scene.lanes).map(({ strip }) => strip.to - strip.from));
  context.font = fontOf(theme);
  context.textBaseline = "middle";
  context.fillStyle = theme.ink.ink3;
  context.textAlign = "left";
  if (!scene.plane.turned) context.fillText("whole log", 0, 17 * theme.scale);
  if (!scene.plane.turned) {
    context.fillText(counted(longest, "entry", "entries"), x1 + 12, 12 * theme.scale);
    context.fillText(`${Math.min(shown, longest)} in view`, x1 + 12, 26 * theme.scale);
  }
}
