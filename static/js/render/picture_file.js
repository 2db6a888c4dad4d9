/** The diagram of a lab as a PNG: canvases and names that are visible, at their places on the page, on its background. */

import { allOf } from "./dom.js";

/**
 * @param {Document} document
 * @param {import("./dom.js").PageWindow} window
 * @param {HTMLElement} section contains the diagram; those of its legend are left out
 * @param {string} background colour
 * @returns {Promise<Blob | null>} null when nothing is drawn
 */
export function pictureOf(document, window, section, background) {
  const canvases = /** @type {HTMLCanvasElement[]} */ (allOf(section, "canvas[data-part], .handles canvas")).filter((canvas) => canvas.width > 0 && canvas.getClientRects().length > 0);
  if (canvases.length === 0) return Promise.resolve(null);
  const boxes = canvases.map((canvas) => canvas.getBoundingClientRect());
  const names = textsIn(document, window, section);
  const all = [...boxes, ...names.map(({ box }) => box)];
  const left = Math.min(...all.map((box) => box.left));
  const top = Math.min(...all.map((box) => box.top));
  const ratio = Math.max(...canvases.map((canvas, at) => canvas.width / boxes[at].width));
  const picture = document.createElement("canvas");
  picture.width = Math.ceil((Math.max(...all.map((box) => box.right)) - left) * ratio);
  picture.height = Math.ceil((Math.max(...all.map((box) => box.bottom)) - top) * ratio);
  const context = picture.getContext("2d");
  context.fillStyle = background;
  context.fillRect(0, 0, picture.width, picture.height);
  context.scale(ratio, ratio);
  canvases.forEach((canvas, at) => context.drawImage(canvas, boxes[at].left - left, boxes[at].top - top, boxes[at].width, boxes[at].height));
  context.textBaseline = "middle";
  for (const { text, box, font, colour } of names) {
    Object.assign(context, { font, fillStyle: colour });
    context.fillText(text, box.left - left, (box.top + box.bottom) / 2 - top);
  }
  return new Promise((resolve) => picture.toBlob(resolve, "image/png"));
}

/** The names that lie over the canvases as elements: lanes, nodes, clients. @returns {{text: string, box: DOMRect, font: string, colour: string}[]} */
function textsIn(document, window, section) {
  return allOf(section, ".handles").flatMap((handles) => {
    const walker = document.createTreeWalker(handles, 4); // text nodes
    const found = [];
    while (walker.nextNode()) {
      const range = document.createRange();
      range.selectNodeContents(walker.currentNode);
      const [box] = range.getClientRects();
      const text = walker.currentNode.textContent.trim();
      const style = window.getComputedStyle(walker.currentNode.parentElement);
      if (text && box && box.width > 2 && style.visibility === "visible") found.push({ text, box, font: `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`, colour: style.color });
    }
    return found;
  });
}
