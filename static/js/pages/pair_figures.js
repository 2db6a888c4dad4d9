/** The table of two runs' figures for each failover or group; a figure that differs is marked. */

import { capitalised, seconds, span, whole } from "../model/format.js";
import { element, required } from "../render/dom.js";
import { headCell } from "../render/terms.js";

/** Figures that are marked when they are not 0. What is not replicated may still arrive, and a difference alone is no harm. */
const HARM = new Set(["duplicates", "lost"]);

/** @param {{document: Document, root: HTMLElement}} page @param {{cases: any[][], table: {columns: any[], noun: string}, left: {name: string}, right: {name: string}}} answer */
export function writeFigures({ document, root }, { cases, table, left, right }) {
  const home = required(root, "[data-part=figures]");
  const labels = [...new Set(cases.flat().map((one) => `${seconds(one.at_us)} s: ${one.label}`))];
  if (labels.length === 0) {
    home.replaceChildren(element(document, "p.quiet", { text: `Neither run has a ${table.noun}.` }));
    return;
  }
  const named = cases.map((side) => new Map(side.map((one) => [`${seconds(one.at_us)} s: ${one.label}`, one])));
  const rows = labels.flatMap((label) => [
    element(document, "tr", {}, [element(document, "th.case", { colspan: 3, scope: "rowgroup", text: label })]),
    ...table.columns.map((column) => rowOf(document, column, named.map((side) => side.get(label)))),
  ]);
  const head = element(document, "tr", {}, [element(document, "td", {}), headCell(document, "col", capitalised(left.name)), headCell(document, "col", capitalised(right.name))]);
  home.replaceChildren(element(document, "table", {}, [element(document, "thead", {}, [head]), element(document, "tbody", {}, rows)]));
}

/**
 * The first figure that differs: of the earliest failover or group, in the order of the table.
 * @param {{cases: any[][], table: {columns: any[], noun: string}}} answer
 * @returns {{at_us: number, label: string, title: string, values: string[]} | null}
 */
export function firstFigure({ cases, table }) {
  const known = cases.flat().sort((one, other) => one.at_us - other.at_us);
  for (const { at_us, label } of known) {
    const sides = cases.map((side) => side.find((one) => one.at_us === at_us && one.label === label));
    for (const { name, title, unit } of table.columns) {
      const values = sides.map((one) => figureOf(one?.figures ?? one, name));
      if (values[0] !== values[1]) return { at_us, label, title, values: values.map((value, at) => textOf(value, unit, sides[at]?.at_least?.includes(name))) };
    }
  }
  return null;
}

function rowOf(document, { name, title, unit }, sides) {
  const values = sides.map((one) => figureOf(one?.figures ?? one, name));
  const kind = values[0] === values[1] ? "" : ".differs";
  const cell = (value, at) => element(document, HARM.has(name) && value > 0 ? "td.harm-text" : "td", { text: textOf(value, unit, sides[at]?.at_least?.includes(name)) });
  return element(document, `tr${kind}`, {}, [headCell(document, "row", title), ...values.map(cell)]);
}

const figureOf = (one, name) => one?.[name] ?? null;

/** A figure in words; one that may still rise is a lower bound. */
export const textOf = (value, unit, at_least = false) => (value === null ? "–" : `${at_least ? "at least " : ""}${unit === "count" ? whole(value) : span(value)}`);
