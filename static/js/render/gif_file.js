/**
 * Frames as an animated GIF. A frame contains only the pixels that differ from the frame before, which keeps the file small: the others are transparent.
 * Up to 255 colours are kept exactly; more are reduced to 255 by the encoder. Equal frames give equal bytes.
 */

const COLOURS_MAX = 255; // and one number for "as before"

/**
 * @param {{GIFEncoder: any, quantize: any, applyPalette: any}} gifenc the library
 * @param {number} width px
 * @param {number} height px
 */
export function makeGif({ GIFEncoder, quantize, applyPalette }, width, height) {
  const gif = GIFEncoder();
  let before = null;
  let waiting = null; // the newest frame: if the next one is equal, it is shown for longer

  function write() {
    if (!waiting) return;
    const { indices, palette, transparent, delay_ms } = waiting;
    gif.writeFrame(indices, width, height, { palette, delay: delay_ms, transparent: transparent !== null, transparentIndex: transparent ?? 0, dispose: 1, repeat: 0 });
    waiting = null;
  }

  /** Numbers of the pixels' colours and the table of colours. */
  function numbered(pixels) {
    const exact = exactColours(pixels);
    if (exact) return exact;
    const rgba = new Uint8Array(pixels.buffer);
    const palette = quantize(rgba, COLOURS_MAX, { format: "rgb565" });
    return { palette, numbers: applyPalette(rgba, palette, "rgb565") };
  }

  return {
    /** @param {Uint8ClampedArray<ArrayBuffer>} rgba opaque pixels @param {number} delay_ms */
    add(rgba, delay_ms) {
      const now = new Uint32Array(rgba.buffer.slice(0)); // one number for each pixel
      const places = before ? changedPlaces(before, now) : null;
      before = now;
      if (places?.length === 0) {
        waiting.delay_ms += delay_ms;
        return;
      }
      write();
      const { palette, numbers } = numbered(places ? places.map((place) => now[place]) : now);
      waiting = { ...placed(palette, numbers, places, now.length), delay_ms };
    },
    /** @returns {number} bytes so far */
    size: () => gif.bytesView().length,
    /** @returns {Uint8Array<ArrayBuffer>} */
    finish() {
      write();
      gif.finish();
      return gif.bytes();
    },
  };
}

/** @param {Uint32Array} before @param {Uint32Array} now @returns {Uint32Array} the places of the pixels that differ */
function changedPlaces(before, now) {
  let count = 0;
  for (let at = 0; at < now.length; at++) if (now[at] !== before[at]) count += 1;
  const places = new Uint32Array(count);
  for (let at = 0, next = 0; next < count; at++) if (now[at] !== before[at]) places[next++] = at;
  return places;
}

/** @param {Uint32Array} pixels @returns {{palette: number[][], numbers: Uint8Array} | null} null when there are too many colours to keep each */
function exactColours(pixels) {
  const known = new Map();
  const numbers = new Uint8Array(pixels.length);
  for (let at = 0; at < pixels.length; at++) {
    let number = known.get(pixels[at]);
    if (number === undefined) {
      if (known.size === COLOURS_MAX) return null;
      known.set(pixels[at], (number = known.size));
    }
    numbers[at] = number;
  }
  return { palette: [...known.keys()].map((pixel) => [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255]), numbers };
}

/** Puts the numbers at their places among transparent pixels; a first frame has no transparent ones. */
function placed(palette, numbers, places, length) {
  if (!places) return { indices: numbers, palette, transparent: null };
  const transparent = palette.length;
  const indices = new Uint8Array(length).fill(transparent);
  for (let at = 0; at < places.length; at++) indices[places[at]] = numbers[at];
  return { indices, palette: [...palette, [0, 0, 0]], transparent };
}
