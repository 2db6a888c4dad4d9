/** Draws placed labels: pieces of text in a weight and an ink, with a halo in the background colour over lines. */

import { markAs } from "./marks.js";
import { fontOf } from "./theme.js";

/** @typedef {{text: string, weight: number, colour: string}} Run a piece of a label in one weight and colour (name of a theme ink) */

/** @returns {(runs: {text: string, weight: number}[]) => number} width in px; widths are cached per text and weight */
export function makeMeasure(context, theme) {
  const widths = new Map();
  return (runs) => runs.reduce((sum, run) => sum + widthOf(run), 0);
  function widthOf(run) {
    const key = `${run.weight}|${run.text}`;
    let width = widths.get(key);
    if (width === undefined) {
      if (widths.size > 2000) widths.clear(); // texts with durations change every frame
      context.font = fontOf(theme, theme.label, run.weight);
      width = context.measureText(run.text).width;
      widths.set(key, width);
    }
    return width;
  }
}

/** @param {{x: number, y: number, height: number, label: Run[]}[]} placed */
export function drawLabels(context, placed, theme, measure) {
  markAs(context, "text");
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  for (const { x, y, height, label } of placed) {
    let at = x;
    for (const run of label) {
      context.font = fontOf(theme, theme.label, run.weight);
      context.strokeStyle = theme.ink.bg;
      context.lineWidth = 4;
      context.strokeText(run.text, at, y + height / 2);
      context.fillStyle = theme.ink[run.colour];
      context.fillText(run.text, at, y + height / 2);
      at += measure([run]);
    }
  }
}

/**
 * Places the labels of a diagram without overlap; each label requests one or more places, in order of preference.
 * Labels of higher priority are placed first. A label without a free place is left out, never shrunk; `leftOut` says which. Boxes are
 * x, y (top left), width and height in px.
 */

/** Order of priority; labels with lower numbers are placed first. */
export const PRIORITY = { hole: 0, thread: 1, cursor: 2, harm: 3, flag: 4, range: 5, quiet: 6 };

/**
 * @typedef {object} LabelRequest
 * @property {number} priority one of PRIORITY
 * @property {number} height
 * @property {{width: number, label: object, places: {x: number, y: number}[]}[]} forms longest first; places best first, top left corners
 */

const overlap = (a, b, gap) => a.x < b.x + b.width + gap && b.x < a.x + a.width + gap && a.y < b.y + b.height && b.y < a.y + a.height;

/**
 * @param {LabelRequest[]} requests
 * @param {{width: number, height: number}} bounds of the picture
 * @param {{x: number, y: number, width: number, height: number}[]} taken areas that no label may cover
 * @param {number} gap between neighbours on a line, px
 * @param {{x: number, y: number, width: number, height: number}[]} lines areas that a label covers only when it has no other free place
 * @returns {{x: number, y: number, width: number, height: number, label: object}[]} the labels that were placed, each in the longest form that fits
 */
export function placeLabels(requests, bounds, taken = [], gap = 6, lines = []) {
  const boxes = [...taken];
  const placed = [];
  const ordered = requests.map((request, at) => ({ request, at })).sort((a, b) => a.request.priority - b.request.priority || a.at - b.at);
  for (const { request } of ordered) {
    const found = firstFree(request, bounds, boxes, lines, gap);
    if (!found) continue;
    boxes.push(found);
    placed.push(found);
  }
  return placed;
}

/**
 * @template {LabelRequest} T
 * @param {T[]} requests
 * @param {{label: object}[]} placed of these
 * @returns {T[]} those without room
 */
export function leftOut(requests, placed) {
  const labels = new Set(placed.map(({ label }) => label));
  return requests.filter(({ forms }) => !forms.some(({ label }) => labels.has(label)));
}

/** A longer form that covers a line is preferred to a shorter one beside it: no text is shortened to keep a line visible. */
function firstFree({ forms, height }, bounds, boxes, lines, gap) {
  for (const { width, label, places } of forms) {
    const free = places
      .map(({ x, y }) => ({ x, y, width, height, label }))
      .filter((box) => box.x >= 0 && box.x + width <= bounds.width && box.y >= 0 && box.y + height <= bounds.height && !boxes.some((other) => overlap(box, other, gap)));
    const best = free.find((box) => !lines.some((line) => overlap(box, line, 0))) ?? free[0];
    if (best) return best;
  }
  return null;
}
