/**
 * Applies the changes of a frame to the view of the frame before (`visualizer/live/changes.py` computes them).
 * Unchanged objects are shared with the previous view. No object is modified.
 */

/**
 * @param {object} view
 * @param {object} changes the changed values, nested as in the view; lists and plain values are replaced
 * @param {string[][]} whole paths of objects that `changes` contains completely, in the order of their names
 * @returns {object} the new view
 */
export function changedView(view, changes, whole) {
  return merged(whole.reduce(emptied, view), changes);
}

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** An object that is replaced as a whole must not be merged with the old one, so its place is empty until the changes are applied. */
function emptied(view, path) {
  if (path.length === 0 || !isObject(view)) return null;
  const [name, ...rest] = path;
  return { ...view, [name]: emptied(view[name], rest) };
}

function merged(before, changes) {
  if (!isObject(before)) return changes;
  const names = Object.keys(changes);
  if (names.length === 0) return before;
  const after = { ...before };
  for (const name of names) after[name] = isObject(changes[name]) ? merged(before[name], changes[name]) : changes[name];
  return after;
}
