/** The headings of the groups in the list of events, kept while their group is listed. */

import { element, putParts } from "./dom.js";

/**
 * @param {Document} document
 * @param {(key: string, later: object[]) => Array<string | object>} wordsOfGroup the heading of a group; `later`: rows after the instant shown, for a group of them
 */
export function makeEventHeadings(document, wordsOfGroup) {
  /** @type {Map<string, {node: HTMLElement, shown: string}>} */
  const headings = new Map();

  return {
    of(key, ahead, later) {
      const name = `${ahead}|${key}`;
      if (!headings.has(name)) headings.set(name, { node: element(document, ahead ? "li.event-group.ahead" : "li.event-group"), shown: "" });
      const heading = headings.get(name);
      const words = wordsOfGroup(key, ahead ? later : []);
      const shown = JSON.stringify(words);
      if (shown !== heading.shown) putParts(document, heading.node, words);
      heading.shown = shown;
      return heading.node;
    },
    /** @param {{key: string | null}[]} groups that are listed */
    forgetOthers(groups) {
      const keys = new Set(groups.map(({ key }) => key));
      for (const name of [...headings.keys()]) if (!keys.has(name.slice(name.indexOf("|") + 1))) headings.delete(name);
    },
  };
}
