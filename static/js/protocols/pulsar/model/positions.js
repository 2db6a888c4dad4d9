/**
 * Converts between `ledger:entry` and the index of an entry in its log, by the topic's list of ledgers.
 * The list contains the last 50 ledgers. For earlier positions the result is null.
 */

/** @typedef {[ledger: number, first_index: number, entries: number]} LedgerSpan */

/** @param {string} text `ledger:entry` @returns {{ledger: number, entry: number}} */
export function parsePosition(text) {
  const [ledger, entry] = text.split(":").map(Number);
  return { ledger, entry };
}

/** @returns {number | null} index; entry -1 is the index before the ledger's first entry */
export function indexOf(ledgers, { ledger, entry }) {
  for (let i = ledgers.length - 1; i >= 0; i--) {
    const [number, first_index] = ledgers[i];
    if (number === ledger) return first_index + entry;
    if (number < ledger) return null;
  }
  return null;
}

/** @returns {string} `ledger:entry`, or "" when the index is before the first ledger of the list */
export function positionOf(ledgers, index) {
  for (let i = ledgers.length - 1; i >= 0; i--) {
    const [number, first_index] = ledgers[i];
    if (index >= first_index) return `${number}:${index - first_index}`;
  }
  return "";
}
