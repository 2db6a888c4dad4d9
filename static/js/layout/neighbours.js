/** Finds the nearest box in a direction, for arrow keys in a grid with a variable number of columns. */

const AHEAD = {
  ArrowRight: (from, to) => to.left >= from.right - 1 && overlaps(from.top, from.bottom, to.top, to.bottom),
  ArrowLeft: (from, to) => to.right <= from.left + 1 && overlaps(from.top, from.bottom, to.top, to.bottom),
  ArrowDown: (from, to) => to.top >= from.bottom - 1,
  ArrowUp: (from, to) => to.bottom <= from.top + 1,
};

const overlaps = (low, high, other_low, other_high) => low < other_high && other_low < high;
const middle = (box) => (box.left + box.right) / 2;

/**
 * @param {{left: number, right: number, top: number, bottom: number}[]} boxes
 * @param {number} at index of the box to start from
 * @param {string} key
 * @returns {number} index of the nearest box in that direction, -1 when there is none
 */
export function neighbour(boxes, at, key) {
  const ahead = AHEAD[key];
  if (!ahead) return -1;
  const from = boxes[at];
  const across = key === "ArrowUp" || key === "ArrowDown";
  let best = -1;
  let nearest = Infinity;
  boxes.forEach((box, index) => {
    if (index === at || !ahead(from, box)) return;
    // boxes of a row have the same top and different heights: choose the next row first, then the nearest column in it
    const aside = Math.abs(middle(box) - middle(from));
    const distance = across ? Math.abs(box.top - from.top) * 1000 + aside : aside;
    if (distance < nearest) [best, nearest] = [index, distance];
  });
  return best;
}
