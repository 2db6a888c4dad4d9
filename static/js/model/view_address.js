/** What a page of a lab shows, as the query of its address: the panel and the viewer's choices. */

const CHOICES = ["topic", "subscription", "target", "group"];
/** Most characters of a choice: that of a name in a scenario. */
const LONGEST_CHOICE = 200;

/** @param {string} search the query of an address @returns {{topic?: string, subscription?: string, target?: string, group?: string}} */
export function selectionOf(search) {
  const given = new URLSearchParams(search);
  const chosen = CHOICES.map((name) => [name, given.get(name)]).filter(([, value]) => value && value.length <= LONGEST_CHOICE);
  return Object.fromEntries(chosen);
}

/** @param {{panel: string, selection: object}} view @returns {string} "?panel=…&topic=…" */
export function searchOf({ panel, selection }) {
  const query = new URLSearchParams({ panel });
  for (const name of CHOICES) if (selection[name]) query.set(name, selection[name]);
  return `?${query}`;
}
