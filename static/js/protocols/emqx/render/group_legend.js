/** Writes the legend of a group lab: its marks as in the picture, with their meaning. */

import { element } from "../../../render/dom.js";
import { prepared } from "../../../render/canvas.js";
import { pin } from "../../../render/glyphs.js";
import { termLink } from "../../../render/terms.js";

const SIZE_PX = 18;
const TURN = 2 * Math.PI;

/** @param {Document} document @param {HTMLElement} box @param {import("../../../render/theme.js").Theme} theme @param {number} ratio */
export function writeGroupLegend(document, box, theme, ratio) {
  const k = theme.scale;
  const item = (words, width, draw) => {
    const canvas = element(document, "canvas", { "aria-hidden": "true" });
    draw(prepared(canvas, width * k, SIZE_PX * k, ratio));
    return element(document, "li", {}, [canvas, termLink(document, words)]);
  };
  const bar = (context, colour, x, y, width, height) => {
    context.fillStyle = colour;
    context.fillRect(x * k, y * k, width * k, height * k);
  };
  const cursor = (words, colour, open) => item(words, 11, (context) => pin(context, 5.5 * k, 5 * k, 0, -1, 8 * k, colour, theme.ink.bg, open));
  box.replaceChildren(
    item("not acked yet", 16, (context) => bar(context, theme.origin[0], 0, 5, 16, 8)),
    item("acked", 16, (context) => bar(context, theme.done[0], 0, 5, 16, 8)),
    item("delivered, not acked", 16, (context) => bar(context, theme.origin[0], 0, 4, 16, 12)),
    cursor("committed", theme.ink.ink, false),
    cursor("reported", theme.ink.proto, false),
    item("acknowledged", 5, (context) => bar(context, theme.ink.ink, 2, 4, 1.6, 10)),
    cursor("delivered", theme.ink.ink, true),
    item("redelivered if the leader crashes", 18, (context) => {
      bar(context, theme.ink.harm, 0, 7, 18, 1.5);
      bar(context, theme.ink.harm, 0, 10.6, 18, 1.5);
    }),
    item("redelivered if its client is killed", 18, (context) => bar(context, theme.ink.harm, 0, 8, 18, 1.8)),
    item("reads until, dropped at; between: two readers possible", 18, (context) => {
      const ring = (radius, to, colour, width) => {
        context.strokeStyle = colour;
        context.lineWidth = width * k;
        context.beginPath();
        context.arc(9 * k, 9 * k, radius * k, -TURN / 4, -TURN / 4 + to * TURN);
        context.stroke();
      };
      context.fillStyle = theme.ink.harmWash;
      context.beginPath();
      context.moveTo(9 * k, 9 * k);
      context.arc(9 * k, 9 * k, 8 * k, -TURN / 4 + 0.45 * TURN, -TURN / 4 + 0.8 * TURN);
      context.fill();
      ring(7.6, 0.8, theme.origin[0], 1.8);
      ring(4.8, 0.45, theme.ink.proto, 1.6);
    }),
  );
}
