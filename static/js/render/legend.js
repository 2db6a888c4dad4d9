/**
 * The legend under the picture: an item for every mark, as the protocol's manifest declares them.
 * The most frequent marks are always listed, all of them on request. Choosing an item shows its meaning with a link to the glossary, and
 * highlights the mark in the picture until it is chosen again.
 */

import { element, required, setText } from "./dom.js";
import { prepared } from "./canvas.js";
import { termLink } from "./terms.js";

const SIZE_PX = 18;

/**
 * @typedef {object} LegendItem
 * @property {string} words
 * @property {string} term label of the glossary entry
 * @property {string} says one sentence that explains the mark
 * @property {string[]} marks kinds, as named by `markAs`
 * @property {string} group heading in the whole legend
 * @property {number | ((clusters: string[]) => number)} width px at scale 1
 * @property {boolean} [first] whether it is listed while the legend is not expanded
 * @property {"snapshots" | "peers" | "beside"} [needs] what must be possible in the lab; `beside`: it is shown beside another run
 * @property {(context: CanvasRenderingContext2D, given: LegendGiven) => void} draw in a box of `width` by 18 px, at scale 1
 */
/**
 * @typedef {object} LegendGiven
 * @property {import("./theme.js").Theme} theme
 * @property {string[]} clusters
 */

/**
 * @param {Document} document
 * @param {HTMLElement} root
 * @param {() => void} onChoose the choice or the legend's height has changed
 */
export function makeLegend(document, root, onChoose) {
  const list = required(root, "[data-part=legend]");
  const meaning = required(root, "[data-part=legend-meaning]");
  let written = "";
  let whole = false;
  let chosen = null;
  /** @type {LegendItem[]} */
  let listed = [];
  let again = () => {};

  function choose(item) {
    chosen = item && chosen?.item.words !== item.words ? { item, marks: new Set(item.marks), drawn: {} } : null;
    for (const button of list.querySelectorAll("[data-marks]")) button.setAttribute("aria-pressed", String(button.textContent === chosen?.item.words));
    meaning.hidden = chosen === null;
    if (chosen) meaning.replaceChildren(element(document, "span", { text: `${chosen.item.says} ` }), glossaryLink(document, chosen.item.term), element(document, "span.quiet", { "data-part": "legend-none" }));
    onChoose();
  }

  function expand() {
    whole = !whole;
    again();
    required(list, "[data-act=legend-all]").focus();
    onChoose();
  }

  return {
    /** @returns {import("./marks.js").Chosen | null} */
    chosen: () => chosen,
    /** Chooses the item with these words, or none. @param {string | null} words */
    chooseNamed(words) {
      const item = listed.find((one) => one.words === words) ?? null;
      if (item?.words !== chosen?.item.words) choose(item);
    },
    /** @returns {boolean} whether something was highlighted */
    clear() {
      if (!chosen) return false;
      choose(null);
      return true;
    },
    /**
     * @param {string} protocol
     * @param {LegendItem[]} items
     * @param {import("./theme.js").Theme} theme
     * @param {{ratio: number, clusters: string[], snapshots: boolean, peers: boolean, beside: boolean}} given
     */
    update(protocol, items, theme, given) {
      const key = [theme.ink.bg, theme.scale, given.ratio, given.clusters.length, protocol, given.snapshots, given.peers, given.beside].join("|");
      if (key !== written) {
        written = key;
        listed = items;
        again = () => list.replaceChildren(...linesOf(document, items.filter(({ needs }) => !needs || given[needs]), theme, { ...given, whole, chosen, choose, expand }));
        again();
      }
      if (chosen) setText(required(meaning, "[data-part=legend-none]"), Object.values(chosen.drawn).some((count) => count > 0) ? "" : " None is in the picture now.");
    },
  };
}

function glossaryLink(document, term) {
  const link = termLink(document, "Glossary", term);
  return typeof link === "string" ? element(document, "span") : link;
}

function linesOf(document, items, theme, given) {
  const { whole, choose, expand } = given;
  const shown = whole ? items : items.filter(({ first }) => first);
  const lines = [];
  let group = "";
  for (const item of shown) {
    if (whole && item.group !== group) {
      group = item.group;
      lines.push(element(document, "li.legend-group", { text: group }));
    }
    lines.push(lineOf(document, item, theme, given, choose));
  }
  const text = whole ? "fewer marks" : `all ${items.length} marks`;
  const all = element(document, "button.plain", { type: "button", "data-act": "legend-all", "aria-expanded": String(whole), text, onclick: expand });
  return shown.length === items.length && !whole ? lines : [...lines, element(document, "li", {}, [all])];
}

function lineOf(document, item, theme, { ratio, clusters, chosen }, choose) {
  const k = theme.scale;
  const canvas = element(document, "canvas", { "aria-hidden": "true" });
  const width = typeof item.width === "number" ? item.width : item.width(clusters);
  const context = prepared(canvas, width * k, SIZE_PX * k, ratio);
  context.scale(k, k);
  item.draw(context, { theme, clusters });
  const pressed = String(item.words === chosen?.item.words);
  return element(document, "li", {}, [element(document, "button.legend-item", { type: "button", "data-marks": item.marks.join(" "), "aria-pressed": pressed, title: item.says, onclick: () => choose(item) }, [canvas, item.words])]);
}
