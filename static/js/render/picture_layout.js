/** The parts of a lab's diagram at their places on the page: the canvases and names that are visible. Pictures and animations are made from it. */

import { allOf } from "./dom.js";

/** The canvases of a diagram; those of its legend are left out. */
const CANVASES = "canvas[data-part], .handles canvas";

/**
 * @typedef {object} PictureLayout
 * @property {{canvas: HTMLCanvasElement, box: DOMRect}[]} canvases in drawing order
 * @property {{text: string, box: DOMRect, font: string, colour: string, ground?: string}[]} names of lanes, nodes, clients, links, which are elements over the canvases; ground: colour under one that lies over lines
 * @property {number} left of the diagram, CSS px of the page
 * @property {number} top
 * @property {number} width CSS px
 * @property {number} height CSS px
 * @property {number} ratio bitmap px per CSS px
 */

/**
 * @param {Document} document
 * @param {import("./dom.js").PageWindow} window
 * @param {HTMLElement} section contains the diagram
 * @returns {PictureLayout | null} null when nothing is drawn
 */
export function layoutOf(document, window, section) {
  const shown = /** @type {HTMLCanvasElement[]} */ (allOf(section, CANVASES)).filter((canvas) => canvas.width > 0 && canvas.getClientRects().length > 0);
  if (shown.length === 0) return null;
  const canvases = shown.map((canvas) => ({ canvas, box: canvas.getBoundingClientRect() }));
  const names = namesIn(document, window, section);
  const boxes = [...canvases, ...names].map(({ box }) => box);
  const left = Math.min(...boxes.map((box) => box.left));
  const top = Math.min(...boxes.map((box) => box.top));
  return {
    canvases,
    names,
    left,
    top,
    width: Math.max(...boxes.map((box) => box.right)) - left,
    height: Math.max(...boxes.map((box) => box.bottom)) - top,
    ratio: ratioOf(canvases),
  };
}

/** Space around a picture in a file, and above it for its title and a line under that, px. */
const [MARGIN_PX, TITLE_PX] = [16, 44];

/**
 * The layout of a picture that is saved: with a margin, and above it what it shows.
 * @param {PictureLayout} layout
 * @param {{title: string, line: string, family: string, colour: string, soft: string}} given
 * @returns {PictureLayout}
 */
export function withTitle(layout, { title, line, family, colour, soft }) {
  const left = layout.left - MARGIN_PX;
  const top = layout.top - MARGIN_PX - TITLE_PX;
  const boxAt = (y) => new DOMRect(layout.left, y, layout.width, 20);
  const heading = [
    { text: title, box: boxAt(top + MARGIN_PX - 2), font: `650 15px ${family}`, colour },
    { text: line, box: boxAt(top + MARGIN_PX + 17), font: `400 12px ${family}`, colour: soft },
  ];
  return { ...layout, left, top, width: layout.width + 2 * MARGIN_PX, height: layout.height + 2 * MARGIN_PX + TITLE_PX, names: [...layout.names, ...heading] };
}

/** That of the widest canvas: the sizes of a small one are rounded to whole px. */
function ratioOf(canvases) {
  const widest = canvases.reduce((found, one) => (one.box.width > found.box.width ? one : found));
  return widest.canvas.width / widest.box.width;
}

function namesIn(document, window, section) {
  return allOf(section, ".handles").flatMap((handles) => {
    const walker = document.createTreeWalker(handles, 4); // text nodes
    const found = [];
    while (walker.nextNode()) {
      const range = document.createRange();
      range.selectNodeContents(walker.currentNode);
      const [box] = range.getClientRects();
      const text = walker.currentNode.textContent.trim();
      const style = window.getComputedStyle(walker.currentNode.parentElement);
      if (text && box && box.width > 2 && style.visibility === "visible") found.push({ text, box, font: `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`, colour: style.color, ground: groundOf(window, walker.currentNode.parentElement.closest(".handle")) });
    }
    return found;
  });
}

/** @returns {string | undefined} the colour that an element covers what is under it with */
function groundOf(window, handle) {
  const colour = handle ? window.getComputedStyle(handle).backgroundColor : "";
  return colour && colour !== "transparent" && !/, 0\)$/.test(colour) ? colour : undefined;
}

/** Writes the names into a context in CSS px of the page. @param {any} context @param {PictureLayout["names"]} names */
export function paintNames(context, names) {
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const { text, box, font, colour, ground } of names) {
    if (ground) {
      context.fillStyle = ground;
      context.fillRect(box.left - 2, box.top, box.width + 4, box.height);
    }
    context.font = font;
    context.fillStyle = colour;
    context.fillText(text, box.left, (box.top + box.bottom) / 2, Math.max(box.width, 1) + 4);
  }
}

/**
 * Paints the diagram as it is on the page into a context in CSS px of the page.
 * @param {CanvasRenderingContext2D} context
 * @param {PictureLayout} layout
 */
export function paintPage(context, { canvases, names }) {
  for (const { canvas, box } of canvases) context.drawImage(canvas, box.left, box.top, box.width, box.height);
  paintNames(context, names);
}
