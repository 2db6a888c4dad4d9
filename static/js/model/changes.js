/**
 * Puts the changes of a frame into the view before it (`visualizer/live/changes.py` finds them). Objects that nothing touched are
 * shared with the view before; nothing is written to.
 */

/**
 * @param {object} view
 * @param {object} changes what is other, nested as in the view; lists and plain values are replaced
 * @param {string[][]} whole paths of objects that `changes` gives whole, in the order of their names
 * @returns {object} the view after
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
