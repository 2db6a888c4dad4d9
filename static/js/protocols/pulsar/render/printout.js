/**
 * Writes printed lines with notes in the margin.
 * A line keeps its element while its content is the same, so that nothing flickers and a selection is kept when the instant changes.
 */

import { counted } from "../../../model/format.js";
import { element } from "../../../render/dom.js";

/** A line with more pieces (thousands of ranges) is a single text without break opportunities. */
const PIECES_MAX = 200;

/** @param {HTMLElement} home an empty list */
export function makePrintout(document, home) {
  let drawn = [];

  function lineNode(line) {
    if (line.folded) return element(document, "li.fold", {}, [element(document, "span", { text: `⋯ ${counted(line.folded, "more line")}` })]);
    const node = element(document, line.elsewhere.length > 0 ? "li.differs" : "li", {}, [codeNode(line.text)]);
    if (line.note || line.elsewhere.length > 0) node.append(marginNode(line));
    return node;
  }

  /** A long line breaks after a comma or an opening brace, not inside a name. */
  function codeNode(text) {
    const pieces = text.split(/(?<=[,{])(?=\S)/);
    // thousands of ranges scroll in their line, which must therefore be focusable
    if (pieces.length > PIECES_MAX) return element(document, "code", { text, tabindex: "0" });
    if (pieces.length === 1) return element(document, "code", { text: text || " " });
    return element(document, "code", {}, pieces.flatMap((piece) => [element(document, "span", { text: piece }), element(document, "wbr")]));
  }

  function marginNode({ note, elsewhere }) {
    const margin = element(document, "span.margin");
    if (note) margin.append(element(document, "span.note", { text: note }));
    if (elsewhere.length > 0) {
      const values = elsewhere.flatMap(([cluster, value], place) => [place > 0 ? ", " : "", element(document, "span", { text: `${cluster} ${shortened(value)}` })]);
      margin.append(element(document, "span.elsewhere", {}, [element(document, "span", { "aria-hidden": "true", text: "≠ " }), element(document, "span.sr", { text: "otherwise in " }), ...values]));
    }
    return margin;
  }

  return {
    /** @param {(import("../model/printout.js").PrintedLine | import("../model/printout.js").Fold)[]} lines */
    show(lines) {
      const keys = lines.map((line) => JSON.stringify(line));
      keys.forEach((key, place) => {
        if (drawn[place] === key) return;
        const node = lineNode(lines[place]);
        if (place < home.children.length) home.children[place].replaceWith(node);
        else home.append(node);
      });
      while (home.children.length > keys.length) home.lastChild.remove();
      drawn = keys;
    },
  };
}

/** A value of another cluster, shortened for the margin: three decimals, forty characters. */
function shortened(value) {
  if (/^-?\d+\.\d{4,}$/.test(value)) return String(Number(Number(value).toFixed(3)));
  return value.length > 40 ? `${value.slice(0, 39)}…` : value;
}
