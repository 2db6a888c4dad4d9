/** The diagram of a lab as a PNG, on the page's background. */

import { paintPage } from "./picture_layout.js";

/**
 * @param {Document} document
 * @param {import("./picture_layout.js").PictureLayout} layout
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
