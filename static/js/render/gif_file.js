/**
 * Frames as an animated GIF. A frame contains only the pixels that differ from the frame before, which keeps the file small: the others are transparent.
 * Up to 255 colours are kept exactly. Of more, the most frequent ones are kept, so that areas have the same colour in every frame, and the library
 * reduces the others, which are the edges of texts and lines. Equal frames give equal bytes.
 */

const COLOURS_MAX = 255; // and one number for "as before"
/** Colours that are kept where there are too many. */
const KEPT = 160;

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
    const counts = new Map();
    for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
    if (counts.size <= COLOURS_MAX) return { palette: [...counts.keys()].map(rgbOf), numbers: numbersOf(pixels, [...counts.keys()]) };
    const kept = [...counts].sort(([one, often], [other, often_too]) => often_too - often || one - other).slice(0, KEPT).map(([pixel]) => pixel);
    const is_kept = new Set(kept);
    const others = new Uint8Array(pixels.filter((pixel) => !is_kept.has(pixel)).buffer);
    const palette = [...kept.map(rgbOf), ...quantize(others, COLOURS_MAX - KEPT, { format: "rgb565" })];
    return { palette, numbers: numbersOf(pixels, kept, applyPalette(others, palette, "rgb565")) };
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

/** @param {number} pixel @returns {number[]} red, green, blue */
const rgbOf = (pixel) => [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255];

/** The place of each pixel's colour among `kept`; those of the other pixels are the next of `others`. */
function numbersOf(pixels, kept, others = new Uint8Array()) {
  const places = new Map(kept.map((pixel, place) => [pixel, place]));
  let next = 0;
  return Uint8Array.from(pixels, (pixel) => places.get(pixel) ?? others[next++]);
}

/** Puts the numbers at their places among transparent pixels; a first frame has no transparent ones. */
function placed(palette, numbers, places, length) {
  if (!places) return { indices: numbers, palette, transparent: null };
  const transparent = palette.length;
  const indices = new Uint8Array(length).fill(transparent);
  for (let at = 0; at < places.length; at++) indices[places[at]] = numbers[at];
  return { indices, palette: [...palette, [0, 0, 0]], transparent };
}
