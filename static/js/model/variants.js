/**
 * The variants of a what-if in the order of the table, which the server has decided (`simulator/what_if.py`).
 * The real run is first, then settings by how much they helped, then those without a difference, then what is no setting or was impossible.
 */

/**
 * A setting as an operator pastes it.
 * @typedef {{key: string, value: string, paste: string, where: string}} PlacedSetting
 */

/**
 * The effect of a change on one case (a failover, a group).
 * @typedef {object} Line
 * @property {string} key
 * @property {string} name
 * @property {PlacedSetting[]} settings none where the change is no setting
 * @property {string} label of the case
 * @property {number} at_us instant to show for the case
 * @property {Record<string, number | null> | null} figures null when the case did not happen
 * @property {string} difference in words
 * @property {boolean} helps
 * @property {string | null} assumes why the change is no advice, such as an assumption that was not true in the run
 * @property {string[]} [at_least] the figures that are lower bounds, because the case still delivered at the end of its run
 * @property {string} price_words additional costs, empty for none
 * @property {"real" | "changed" | "same" | "assumed"} group
 */

/**
 * @param {{variants: {key: string, name: string, settings: PlacedSetting[], cases: object[]}[], order: {rows: {key: string, group: string}[], best: string | null}[]}} answer of what-if.json
 * @param {number} place index of the case
 * @returns {{lines: Line[], real: Line, best: Line | null}} lines in the order of the table; best: the setting to recommend, null until all have run
 */
export function inOrder({ variants, order }, place) {
  const { rows, best } = order[place];
  const byKey = new Map(variants.map((one) => [one.key, one]));
  const lines = rows.map(({ key, group }) => {
    const { name, settings, cases } = byKey.get(key);
    return /** @type {Line} */ ({ key, name, settings, ...cases[place], group });
  });
  return { lines, real: lines[0], best: lines.find(({ key }) => key === best) ?? null };
}
