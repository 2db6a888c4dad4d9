/**
 * The table of names of the whole page: cells refer to names by number, blocks contain short name lists of their own.
 * It only grows, so an earlier state can share it with a later one.
 */

/** @typedef {{list: string[], numbers: Map<string, number>}} NameTable */

/** @returns {NameTable} */
export function makeNames() {
  return { list: [], numbers: new Map() };
}

/** @returns {number} the name's number, assigned on first use */
export function numberOf(table, name) {
  let number = table.numbers.get(name);
  if (number === undefined) {
    number = table.list.push(name) - 1;
    table.numbers.set(name, number);
  }
  return number;
}
