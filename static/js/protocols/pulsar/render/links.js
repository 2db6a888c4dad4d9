/** Draws the links as arcs between the heads of lanes (static part), and messages in flight (every animation frame). */

import { pointOn, shareOf, xOf, yOf } from "../../../layout/plane.js";
import { farEdge } from "../layout/strip.js";
import { freeCell, glyph } from "../../../render/glyphs.js";
import { markAs } from "../../../render/marks.js";
import { fontOf, ORIGINS } from "../../../render/theme.js";

export function drawArcs(context, scene, theme, view) {
  const { plane } = scene;
  markAs(context, "link");
  for (const lane of plane.lanes) {
    const { strip } = scene.lanes[lane.name];
    const head = Math.min(plane.a1, farEdge(strip, strip.to - 1));
    context.strokeStyle = theme.ink.strong;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(xOf(plane, lane, head + 2, plane.cell / 2), yOf(plane, lane, head + 2, plane.cell / 2));
    context.lineTo(xOf(plane, lane, plane.port, plane.cell / 2), yOf(plane, lane, plane.port, plane.cell / 2));
    context.stroke();
    context.fillStyle = theme.ink.ink;
    context.beginPath();
    context.arc(xOf(plane, lane, plane.port, plane.cell / 2), yOf(plane, lane, plane.port, plane.cell / 2), 3 * plane.scale, 0, 7);
    context.fill();
  }
  for (const arc of scene.arcs) drawArc(context, plane, arc, theme, isBroken(view, arc), view.links[arc.name]?.slowed);
}

const isBroken = (view, arc) => view.links[arc.name]?.state === "cut" || [arc.from, arc.to].some((name) => view.clusters[name]?.state !== "up");

function drawArc(context, plane, arc, theme, broken, slowed) {
  const [x0, y0, x1, y1, x2, y2, x3, y3] = arc.points;
  markAs(context, broken ? "link-broken" : slowed ? "link-slowed" : "link");
  context.save();
  context.strokeStyle = broken ? theme.ink.harm : theme.ink.strong;
  context.lineWidth = slowed && !broken ? 1.8 : 1;
  context.setLineDash(broken ? [2, 4] : []);
  context.beginPath();
  context.moveTo(x0, y0);
  context.bezierCurveTo(x1, y1, x2, y2, x3, y3);
  context.stroke();
  context.restore();
  if (broken) {
    const [x, y] = pointOn(arc.points, 0.5);
    glyph(context, "cross", x, y, 3.5 * plane.scale, theme.ink.harm, theme.ink.bg);
  } else chevron(context, plane, arc, theme);
}

/** A small arrowhead at the middle shows the direction. */
function chevron(context, plane, arc, theme) {
  const [x, y] = pointOn(arc.points, 0.5);
  const [nx, ny] = pointOn(arc.points, 0.52);
  const length = Math.hypot(nx - x, ny - y) || 1;
  const dx = (nx - x) / length;
  const dy = (ny - y) / length;
  const arm = 3.4 * plane.scale;
  context.strokeStyle = theme.ink.strong;
  context.lineWidth = 1.3;
  context.beginPath();
  context.moveTo(x - dx * arm - dy * arm, y - dy * arm + dx * arm);
  context.lineTo(x, y);
  context.lineTo(x - dx * arm + dy * arm, y - dy * arm - dx * arm);
  context.stroke();
}

/**
 * Draws messages and markers in flight, each with its own shape at its position in simulated time.
 * @param {object[]} flights as in the frame, of the watched topic
 * @param {number} at_us the instant shown
 * @param {Object<string, number>} totals number of messages and markers on each link; `flights` may be a sample of them
 */
export function drawFlights(context, scene, theme, flights, at_us, totals) {
  const arcs = new Map(scene.arcs.map((arc) => [arc.name, arc]));
  const { scale } = scene.plane;
  const shown = new Map();
  const size = (flights.length > 120 ? 7 : 10) * scale;
  for (const flight of flights) {
    const name = `${flight.from} -> ${flight.to}`;
    const arc = arcs.get(name);
    if (!arc || flight.sent_us > at_us || flight.due_us < at_us) continue;
    const [x, y] = pointOn(arc.points, shareOf(flight, at_us));
    shown.set(name, (shown.get(name) ?? 0) + 1);
    markAs(context, flight.what === "message" ? "flight-message" : "flight-marker");
    if (flight.what === "message") {
      const origin = flight.origin % ORIGINS;
      freeCell(context, origin, x, y, size, size, theme.origin[origin], theme.ink.bg);
    } else glyph(context, flight.what, x, y, 4 * scale, theme.ink.proto, theme.ink.bg);
  }
  drawTotals(context, scene, theme, totals, shown);
}

/** Writes the number in flight at the start of a link, such as "×120", when it is more than what is drawn. */
function drawTotals(context, scene, theme, totals, shown) {
  markAs(context, "text");
  context.font = fontOf(theme, theme.label, 600);
  context.fillStyle = theme.ink.ink2;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const arc of scene.arcs) {
    const count = totals[arc.name] ?? 0;
    if (count <= Math.max(12, shown.get(arc.name) ?? 0)) continue;
    const [x, y] = pointOn(arc.points, 0.16);
    context.fillText(`×${count}`, x + (scene.plane.turned ? 0 : 16 * scene.plane.scale), y + (scene.plane.turned ? 10 : 0));
  }
}
