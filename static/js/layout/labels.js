/**
 * The collision pass: every label of the diagram asks for one or more places; the important ones choose first, and who finds
 * no free place is dropped, never shrunk. Boxes are x, y (top left), width, height in px.
 */

/** Order of importance; lower chooses first. */
export const PRIORITY = { hole: 0, thread: 1, cursor: 2, harm: 3, flag: 4, range: 5, quiet: 6 };

/**
 * @typedef {object} LabelRequest
 * @property {number} priority one of PRIORITY
 * @property {number} width
 * @property {number} height
 * @property {{x: number, y: number}[]} places wanted, best first: top left corners
 * @property {object} [label] anything the renderer needs back
 */

const overlap = (a, b, gap) => a.x < b.x + b.width + gap && b.x < a.x + a.width + gap && a.y < b.y + b.height && b.y < a.y + a.height;

/**
 * @param {LabelRequest[]} requests
 * @param {{width: number, height: number}} bounds of the picture
 * @param {{x: number, y: number, width: number, height: number}[]} taken places that no label may cover
 * @param {number} gap between neighbours on a line, px
 * @returns {(LabelRequest & {x: number, y: number})[]} those that found a place
 */
export function placeLabels(requests, bounds, taken = [], gap = 6) {
  const boxes = [...taken];
  const placed = [];
  const ordered = requests.map((request, at) => ({ request, at })).sort((a, b) => a.request.priority - b.request.priority || a.at - b.at);
  for (const { request } of ordered) {
    for (const place of request.places) {
      const box = { x: place.x, y: place.y, width: request.width, height: request.height };
      const inside = box.x >= 0 && box.x + box.width <= bounds.width && box.y >= 0 && box.y + box.height <= bounds.height;
      if (!inside || boxes.some((other) => overlap(box, other, gap))) continue;
      boxes.push(box);
      placed.push({ ...request, x: box.x, y: box.y });
      break;
    }
  }
  return placed;
}
