/**
 * The answer of “What would have helped”: the recommendation, and a row for each change with the setting to paste and its price.
 * The panel of a lab and the answer of My set-up show the same.
 */

import { capitalised, span, whole } from "../model/format.js";
import { element } from "./dom.js";
import { headCell } from "./terms.js";

/** @returns {string} a count of a case, "at least 56" while it still delivered at the end of its run */
const counted = (line, name) => `${line.at_least?.includes(name) ? "at least " : ""}${whole(line.figures[name])}`;

/**
 * @param {Document} document
 * @param {any} answer
 * @param {{real: Line, best: Line | null}} ordered
 * @param {boolean} complete whether every change has run; nothing is recommended before
 * @returns {HTMLElement[]} the sentence, and the settings to paste
 */
export function headline(document, answer, { real, best }, complete) {
  const [{ name: first, title }] = answer.columns;
  const was = `${title}: ${counted(real, first)}`;
  const begins = "The same run and failure with one change at a time. ";
  if (!best) return [element(document, "p.lead-in", { text: `${begins}${complete ? "No setting helps in this run. " : ""}Unchanged: ${was}.` })];
  const price = best.price_words ? `, at the price of ${best.price_words}` : "";
  const words = [`${begins}The setting that helps most: `, element(document, "b", { text: best.name }), `. ${capitalised(best.difference)}${price}.`];
  return [element(document, "p.lead-in", {}, words), placed(document, best.settings)];
}

/** The settings of a change, each as a line to paste and where it belongs. */
export function placed(document, settings) {
  return element(document, "ul.placed", {}, settings.map(({ paste, where }) => element(document, "li", {}, [element(document, "code", { text: paste }), " ", element(document, "span.quiet", { text: where })])));
}

/**
 * @param {Document} document
 * @param {object} answer
 * @param {{lines: Line[], real: Line}} ordered
 * @param {((line: object, real: object) => (string | Node)[]) | null} acts what opens each line as a lab; null leaves this column out
 */
export function table(document, answer, { lines, real }, acts) {
  const first = answer.columns[0].name;
  const most = Math.max(1, ...lines.map((line) => line.figures?.[first] ?? 0));
  const titles = [headCell(document, "col", "change"), ...answer.columns.map(({ title }, at) => headCell(document, "col", title, at ? ".detail" : ""))];
  const head = element(document, "tr", {}, [...titles, headCell(document, "col", "difference", ".words"), headCell(document, "col", "price", ".words"), ...(acts ? [headCell(document, "col", "as a lab")] : [])]);
  const rows = lines.map((line) => rowOf({ document, acts }, answer, line, real, most));
  return element(document, "div.scrolls", { tabindex: 0, role: "region", "aria-label": "Table of changed runs" }, [element(document, "table", {}, [element(document, "thead", {}, [head]), element(document, "tbody", {}, rows)])]);
}

function rowOf({ document, acts }, answer, line, real, most) {
  const kind = line.group === "changed" ? "" : line.group;
  const cells = answer.columns.map(({ name, unit }, at) => figureCell(document, { value: line.figures?.[name] ?? null, was: real.figures[name], unit, at_least: line.at_least?.includes(name) }, at ? 0 : most));
  const words = kind === "real" ? "actual run" : line.difference;
  return element(document, `tr${kind ? `.${kind}` : ""}`, {}, [
    element(document, "th", { scope: "row" }, [line.name, ...(line.assumes ? [element(document, "span.quiet", { text: ` (${line.assumes})` })] : []), ...(line.settings.length ? [placed(document, line.settings)] : [])]),
    ...cells,
    element(document, "td.words", { text: words }),
    element(document, "td.words", { text: line.price_words }),
    ...(acts ? [element(document, "td", {}, acts(line, real))] : []),
  ]);
}

/** `most` is the value of a full bar; 0 draws no bar. */
function figureCell(document, { value, was, unit, at_least }, most) {
  const kind = most ? "" : ".detail";
  if (value === null) return element(document, `td${kind}`, { text: "–" });
  const changed = was === null || value === was ? "" : value > was ? ".more" : ".fewer";
  const cell = element(document, `td${kind}${changed}`, { text: unit === "count" ? `${at_least ? "at least " : ""}${whole(value)}` : value ? span(value) : "0 ms" });
  if (most) {
    const bar = element(document, "span.share", { "aria-hidden": "true" });
    bar.style.width = `${(100 * value) / most}%`;
    cell.append(element(document, "span.track", { "aria-hidden": "true" }, [bar]));
  }
  return cell;
}

/** @returns {HTMLElement[]} the most helpful settings in short, as for the first page of an attachment; if none helps, those that were tried */
export function bestInShort(document, { lines, real }, answer, most) {
  const [{ name: first, title }] = answer.columns;
  const best = lines.filter(({ group, helps }) => group === "changed" && helps).slice(0, most);
  if (!best.length) {
    const tried = lines.filter(({ group }) => group === "changed" || group === "same").flatMap(({ settings }) => settings);
    return [element(document, "p", { text: `Unchanged: ${title}: ${counted(real, first)}. No setting helps in this run. Tried:` }), placed(document, tried)];
  }
  const items = best.map((line) => element(document, "li", {}, [`${capitalised(line.name)}: ${title} ${counted(line, first)} instead of ${counted(real, first)} (${line.difference})${line.price_words ? `, at the price of ${line.price_words}` : ""}.`, placed(document, line.settings)]));
  return [element(document, "ul.helps", {}, items)];
}

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
