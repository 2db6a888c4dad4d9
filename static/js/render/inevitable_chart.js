/**
 * Draws the probability over the instants before a failover: a line with its 95 % interval, a dashed line for losses, and a button for each point.
 * The row of buttons is one tab stop; the arrow keys move in time.
 */

import { percent, pointWords } from "../model/inevitable.js";
import { seconds } from "../model/format.js";
import { element, svgNode } from "./dom.js";

const HEIGHT_PX = 190;
const TOP_PX = 10;
const BOTTOM_PX = 24;
const LEFT_PX = 44;
const RIGHT_PX = 16;
/** Shortest distance between two labels of the time axis, px. */
const LABEL_PX = 70;

/**
 * @param {Document} document
 * @param {{points: import("../model/inevitable.js").CurvePoint[], more_than: number, from_us: number, to_us: number, now_us: number, width: number, chosen: number | null, onChoose: (at_us: number) => void}} given
 */
export function inevitableChart(document, { points, more_than, from_us, to_us, now_us, width, chosen, onChoose }) {
  const along = (at_us) => LEFT_PX + ((at_us - from_us) / Math.max(1, to_us - from_us)) * (width - LEFT_PX - RIGHT_PX);
  const up = (millionths) => TOP_PX + (1 - millionths / 1e6) * (HEIGHT_PX - TOP_PX - BOTTOM_PX);
  const svg = svgNode(document, "svg", { width, height: HEIGHT_PX, viewBox: `0 0 ${width} ${HEIGHT_PX}`, "aria-hidden": "true" });
  drawAxes(document, svg, { points, along, up, width, to_us, now_us, from_us });
  const place = (name, part) => points.map((point) => `${along(point.at_us)},${up(point[name][part])}`);
  svg.append(svgNode(document, "polygon", { class: "interval", points: [...place("more", "high"), ...place("more", "low").reverse()].join(" ") }));
  if (points.some(({ loss }) => loss.hits > 0)) svg.append(svgNode(document, "polyline", { class: "loss", points: place("loss", "share").join(" ") }));
  svg.append(svgNode(document, "polyline", { class: "more", points: place("more", "share").join(" ") }));
  const stop = points.find(({ at_us }) => at_us === chosen) ?? points[0];
  const buttons = points.map((point) => {
    const button = element(document, "button.point", {
      type: "button",
      tabindex: point === stop ? 0 : -1,
      "data-at": point.at_us,
      "aria-pressed": String(point.at_us === chosen),
      "aria-label": `${pointWords(point, more_than)} Goes to this instant.`,
      onclick: () => onChoose(point.at_us),
    });
    button.style.left = `${along(point.at_us)}px`;
    button.style.top = `${up(point.more.share)}px`;
    return button;
  });
  const chart = element(document, "div.chart", { role: "group", "aria-label": `Probability of more than ${more_than} duplicates over time; the table below has the figures` }, [svg, ...buttons]);
  chart.addEventListener("keydown", (event) => walk(event, buttons));
  return chart;
}

function drawAxes(document, svg, { points, along, up, width, to_us, now_us, from_us }) {
  for (const share of [0, 500_000, 1_000_000]) {
    svg.append(svgNode(document, "line", { class: "grid", x1: LEFT_PX, x2: width - RIGHT_PX, y1: up(share), y2: up(share) }));
    svg.append(svgNode(document, "text", { x: LEFT_PX - 8, y: up(share) + 4, "text-anchor": "end" }, percent(share)));
  }
  let labelled_px = Infinity;
  for (const { at_us } of [...points].reverse()) {
    if (labelled_px - along(at_us) < LABEL_PX) continue;
    labelled_px = along(at_us);
    svg.append(svgNode(document, "text", { x: labelled_px, y: HEIGHT_PX - 6, "text-anchor": at_us === to_us ? "end" : "middle" }, `${seconds(at_us)} s`));
  }
  svg.append(svgNode(document, "line", { class: "failover", x1: along(to_us), x2: along(to_us), y1: TOP_PX, y2: HEIGHT_PX - BOTTOM_PX }));
  if (now_us >= from_us && now_us <= to_us) svg.append(svgNode(document, "line", { class: "now", x1: along(now_us), x2: along(now_us), y1: TOP_PX, y2: HEIGHT_PX - BOTTOM_PX }));
}

const STEPS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };

function walk(event, buttons) {
  if (!(event.key in STEPS) && event.key !== "Home" && event.key !== "End") return;
  event.preventDefault();
  event.stopPropagation();
  const at = buttons.indexOf(event.target);
  const next = event.key === "Home" ? buttons[0] : event.key === "End" ? buttons.at(-1) : buttons[at + STEPS[event.key]];
  next?.focus();
}
