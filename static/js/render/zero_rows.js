/** Tables of figures whose rows with nothing but zeros are replaced by one line, until the viewer asks for them. */

import { element } from "./dom.js";

/**
 * @typedef {object} FigureRow
 * @property {HTMLElement} row a table row
 * @property {string} name of the figure
 * @property {boolean} zero whether all of its figures are 0
 */

/**
 * Marks the rows that are zero and adds a line that names them. A single one is shown as it is, since the line would take as much room.
 * @param {Document} document
 * @param {FigureRow[]} rows
 * @param {number} columns of the table
 * @returns {HTMLElement[]}
 */
export function withZeroRows(document, rows, columns) {
  const zeros = rows.filter(({ zero }) => zero);
  if (zeros.length < 2) return rows.map(({ row }) => row);
  for (const { row } of zeros) row.classList.add("all-zero");
  const names = zeros.map(({ name }) => name).join(", ");
  const button = element(document, "button.plain", { type: "button", "data-act": "zero-rows" }, [element(document, "span.when-closed", { text: `0: ${names}` }), element(document, "span.when-open", { text: "hide rows that are 0" })]);
  return [...rows.map(({ row }) => row), element(document, "tr.zero-rows", {}, [element(document, "td", { colspan: columns }, [button])])];
}

/** Lets the button of a box show and hide its rows that are zero. They are hidden at first. @param {HTMLElement} box */
export function listenToZeroRows(box) {
  box.classList.add("zeros-hidden");
  box.addEventListener("click", (event) => {
    const target = /** @type {Element} */ (event.target);
    if (target.closest("[data-act=zero-rows]")) box.classList.toggle("zeros-hidden");
  });
}
