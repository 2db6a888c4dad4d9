/** The diagram of a lab as a file: PNG or SVG, on the page's background. */

import { allOf } from "./dom.js";
import { escaped, px, recordSvg } from "./svg_context.js";

/** The parts of a lab's diagram at their places on the page: the canvases and names that are visible. Pictures and animations are made from it. */

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

/**
 * @param {Document} document
 * @param {PictureLayout} layout
 * @param {string} background colour
 * @returns {Promise<Blob>}
 */
export function pngOf(document, layout, background) {
  const { left, top, width, height, ratio } = layout;
  const picture = document.createElement("canvas");
  picture.width = Math.ceil(width * ratio);
  picture.height = Math.ceil(height * ratio);
  const context = picture.getContext("2d");
  context.fillStyle = background;
  context.fillRect(0, 0, picture.width, picture.height);
  context.scale(ratio, ratio);
  context.translate(-left, -top);
  paintPage(context, layout);
  return new Promise((resolve) => picture.toBlob(resolve, "image/png"));
}

/**
 * The diagram of a lab as an SVG: the page draws it once more, into contexts that record (`svg_context.js`).
 * Texts stay texts in the page's font with its fallbacks, and the groups have the kind of mark as their class.
 */

/**
 * @param {Document} document
 * @param {PictureLayout} layout
 * @param {{background: string, title: string, words: string}} given `title` and `words`: what the picture shows
 * @param {() => void} draw draws the diagram on the page again
 * @returns {string} a document
 */
export function svgOf(document, layout, { background, title, words }, draw) {
  const recordings = recorded(document, layout.canvases.map(({ canvas }) => canvas), draw);
  const canvases = layout.canvases.map(({ canvas, box }, at) => canvasGroup(recordings[at], canvas, moved(box, layout), at));
  const names = recordSvg(newContext(document), "names");
  paintNames(names.context, layout.names.map((name) => ({ ...name, box: moved(name.box, layout) })));
  const [width, height] = [layout.width, layout.height].map((size) => Math.ceil(size));
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title words" stroke-miterlimit="10">`,
    `<title id="title">${escaped(title)}</title>`,
    `<desc id="words">${escaped(words)}</desc>`,
    `<rect width="${width}" height="${height}" fill="${escaped(background)}"/>`,
    ...canvases,
    `<g class="names">${names.markup()}</g>`,
    "</svg>",
    "",
  ].join("\n");
}

const newContext = (document) => document.createElement("canvas").getContext("2d");

/** A box of the page as a box of the picture. */
const moved = (box, { left, top }) => new DOMRect(box.left - left, box.top - top, box.width, box.height);

/** Lets the page draw while these canvases give contexts that record, and then once more on the canvases themselves. */
function recorded(document, canvases, draw) {
  const recordings = canvases.map((canvas, at) => recordSvg(newContext(document), `c${at}`));
  try {
    canvases.forEach((canvas, at) => {
      forget(canvas);
      Object.defineProperty(canvas, "getContext", { configurable: true, value: () => recordings[at].context });
    });
    draw();
  } finally {
    for (const canvas of canvases) {
      delete canvas.getContext; // the element's own method again
      forget(canvas);
    }
    draw();
  }
  return recordings;
}

/** A small canvas notes what it shows, and is not drawn again for the same. */
const forget = (canvas) => delete canvas.dataset.drawn;

/** One canvas as a group at its place, cut off at its edges. A canvas that was not drawn again is included as a bitmap. */
function canvasGroup(recording, canvas, box, at) {
  const [x, y, width, height] = [box.x, box.y, box.width, box.height].map(px);
  const content = recording.begun() ? recording.markup() : `<image width="${width}" height="${height}" href="${canvas.toDataURL()}"/>`;
  const name = canvas.dataset.part ?? "mark";
  return `<clipPath id="c${at}"><rect width="${width}" height="${height}"/></clipPath><g class="${escaped(name)}" transform="translate(${x} ${y})"><g clip-path="url(#c${at})">${content}</g></g>`;
}
