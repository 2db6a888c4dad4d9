/**
 * One table of names for the whole page: cells carry numbers, blocks carry their own small name lists.
 * Append-only, so a state made earlier can share it with one made later.
 */

/** @typedef {{list: string[], numbers: Map<string, number>}} NameTable */

/** @returns {NameTable} */
export function makeNames() {
  return { list: [], numbers: new Map() };
}

/** @returns {number} the name's number, given now if it is new */
export function numberOf(table, name) {
  let number = table.numbers.get(name);
  if (number === undefined) {
    number = table.list.push(name) - 1;
    table.numbers.set(name, number);
  }
  return number;
}
