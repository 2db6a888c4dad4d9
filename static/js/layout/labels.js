/**
 * The collision pass: every label of the diagram asks for one or more places; the important ones choose first, and who finds
 * no free place is dropped, never shrunk. Boxes are x, y (top left), width, height in px.
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
 * @returns {{x: number, y: number, width: number, height: number, label: object}[]} those that found a place, in the form that fitted
 */
export function placeLabels(requests, bounds, taken = [], gap = 6) {
  const boxes = [...taken];
  const placed = [];
  const ordered = requests.map((request, at) => ({ request, at })).sort((a, b) => a.request.priority - b.request.priority || a.at - b.at);
  for (const { request } of ordered) {
    const found = firstFree(request, bounds, boxes, gap);
    if (!found) continue;
    boxes.push(found);
    placed.push(found);
  }
  return placed;
}

function firstFree({ forms, height }, bounds, boxes, gap) {
  for (const { width, label, places } of forms) {
    for (const { x, y } of places) {
      const box = { x, y, width, height, label };
      const inside = x >= 0 && x + width <= bounds.width && y >= 0 && y + height <= bounds.height;
      if (inside && !boxes.some((other) => overlap(box, other, gap))) return box;
    }
  }
  return null;
}
