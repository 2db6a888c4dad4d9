/** Prepares a canvas that is sharp on every screen: its bitmap has its size in CSS px times the device's pixel ratio. */

/**
 * @param {HTMLCanvasElement} canvas
 * @param {number} width CSS px
 * @param {number} height CSS px
 * @param {number} ratio device pixels per CSS px
 * @returns {CanvasRenderingContext2D} cleared, in CSS px
 */
export function prepared(canvas, width, height, ratio) {
  const context = canvas.getContext("2d");
  const across = Math.round(width * ratio);
  const down = Math.round(height * ratio);
  if (canvas.width !== across || canvas.height !== down) {
    canvas.width = across;
    canvas.height = down;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  context.reset(); // a style that an earlier frame left would make a frame depend on those before it
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}
