/** Places the dots of a dot plot: along the axis by value, stacked where they would overlap. */

/**
 * @param {(number | null)[]} values null is placed at the far end, beyond the axis
 * @param {{width: number, dot: number, highest: number}} given px
 * @returns {{low: number, high: number, height: number, dots: ({along: number, up: number} | null)[]}} px from the left and from below;
 *   a stack that would be higher than `highest` is compressed
 */
export function dotPlaces(values, { width, dot, highest }) {
  const known = values.filter((value) => value !== null);
  const low = Math.min(0, ...known);
  const high = Math.max(...known);
  const room = Math.max(1, width - dot);
  const columns = new Map();
  const order = values.map((value, place) => ({ value, place })).filter((one) => one.value !== null).sort((one, other) => one.value - other.value || one.place - other.place);
  const dots = values.map(() => null);
  for (const { value, place } of order) {
    const exact = high === low ? room / 2 : ((value - low) / (high - low)) * room;
    const column = Math.round(exact / dot);
    const pile = columns.get(column) ?? [];
    columns.set(column, [...pile, place]);
    dots[place] = { along: Math.min(room, column * dot), up: 0 };
  }
  for (const pile of columns.values()) {
    const step = Math.min(dot, (highest - dot) / Math.max(1, pile.length - 1));
    pile.forEach((place, level) => (dots[place].up = level * step));
  }
  return { low, high, height: dot + Math.max(0, ...dots.map((one) => one?.up ?? 0)), dots };
}
