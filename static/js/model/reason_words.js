/** The reason of an event in words. */

const WORDS = {
  "behind-mark-delete": "its position is before the mark-delete",
  equal: "the mark-delete is already there",
  "beyond-last-entry": "its position is after the last entry",
  "not-addressed": "it has no position for this cluster",
  "not-pending": "its snapshot is not pending",
  "link-cut": "the link is cut",
  "cache-rule": "the cache is full",
  passed: "the mark-delete has passed it",
};

/** @param {string} reason such as `link-cut` @returns {string} words that follow a colon or stand in parentheses */
export const reasonWords = (reason) => WORDS[reason] ?? String(reason).replaceAll("-", " ");
