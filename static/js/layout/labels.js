/**
 * The collision pass: every label of the diagram requests one or more places. The important ones choose first, and a label
 * without a free place is dropped, never shrunk. Boxes are x, y (top left), width, height in px.
 */

/** Order of importance; lower chooses first. */
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
 * @param {{x: number, y: number, width: number, height: number}[]} taken places that no label may cover
 * @param {number} gap between neighbours on a line, px
 * @param {{x: number, y: number, width: number, height: number}[]} lines what a label rather does not cover, and may when there is no other place
 * @returns {{x: number, y: number, width: number, height: number, label: object}[]} those that found a place, in the form that fitted
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

/** A longer form on a line says more than a shorter one beside it: what is said is never cut for a line's sake. */
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
