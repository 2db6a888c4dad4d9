/**
 * The diagram of a lab as an SVG: the page draws it once more, into contexts that record (`svg_context.js`).
 * Texts stay texts in the page's font with its fallbacks, and the groups have the kind of mark as their class.
 */

import { paintNames } from "./picture_layout.js";
import { escaped, px, recordSvg } from "./svg_context.js";

/**
 * @param {Document} document
 * @param {import("./picture_layout.js").PictureLayout} layout
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
