/** Writes the legend of the lanes, drawn with the same functions as the diagram, so that both always agree. */

import { element } from "../../../render/dom.js";
import { prepared } from "../../../render/canvas.js";
import { freeCell, glyph } from "../../../render/glyphs.js";
import { termLink } from "../../../render/terms.js";

const SIZE_PX = 18;

/**
 * @param {Document} document
 * @param {HTMLElement} box
 * @param {import("../../../render/theme.js").Theme} theme
 * @param {{ratio: number, clusters: string[], snapshots: boolean, peers: boolean}} given snapshots, peers: whether the lab can have them, see model/possible.js
 */
export function writeLegend(document, box, theme, { ratio, clusters, snapshots, peers }) {
  const k = theme.scale;
  const item = (words, cells, draw) => {
    const canvas = element(document, "canvas", { "aria-hidden": "true" });
    draw(prepared(canvas, cells * k, SIZE_PX * k, ratio), SIZE_PX * k);
    return element(document, "li", {}, [canvas, termLink(document, words)]);
  };
  const cellAt = (context, origin, x, y, colour) => freeCell(context, origin, x * k, y * k, 9 * k, 16 * k, colour, theme.ink.bg);
  const marker = (kind, words) => item(words, 13, (context) => glyph(context, kind, 6.5 * k, 9 * k, 4.2 * k, theme.ink.proto, theme.ink.bg));
  const markers = () => [
    marker("snapshot_request", "request"),
    marker("snapshot_response", "response"),
    marker("snapshot", "snapshot"),
    marker("subscription_update", "update"),
    item("other regions' markers", 8, (context) => {
      context.fillStyle = theme.ink.strong;
      context.fillRect(4 * k, 4 * k, 1.2 * k, 10 * k);
    }),
  ];
  const between = () => [
    item("duplicates of a failover", 18, (context) => {
      context.fillStyle = theme.ink.harm;
      context.fillRect(0, 7 * k, 18 * k, 1.5 * k);
      context.fillRect(0, 10.6 * k, 18 * k, 1.5 * k);
    }),
    item("replicated up to here", 12, (context) => {
      context.fillStyle = theme.ink.ink3;
      context.fillRect(1 * k, 2 * k, 1, 15 * k);
      freeCell(context, 1, 6 * k, 6 * k, 7 * k, 8 * k, theme.origin[1], theme.ink.bg);
    }),
  ];
  box.replaceChildren(
    item("messages", 11 * clusters.length, (context) => clusters.forEach((_, at) => cellAt(context, at, 5 + at * 11, 9, theme.origin[at % theme.origin.length]))),
    item("acknowledged", 11, (context) => cellAt(context, 0, 5, 9, theme.done[0])),
    item("delivered, not acked", 33, (context) => {
      cellAt(context, 0, 5, 11, theme.done[0]);
      cellAt(context, 0, 15.5, 7, theme.origin[0]);
      cellAt(context, 0, 26, 11, theme.done[0]);
    }),
    ...(snapshots ? markers() : []),
    ...(peers ? between() : []),
  );
}
