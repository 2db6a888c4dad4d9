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

/**
 * Frames as a WebM video: the browser's own encoder (WebCodecs) makes the pictures, this module writes the container.
 * The container is the part of Matroska that a player needs: header, one track, clusters that begin with a key frame.
 */

/** In this order: VP9 keeps texts sharper. */
const CODECS = [
  { codec: "vp09.00.41.08", name: "V_VP9" },
  { codec: "vp8", name: "V_VP8" },
];
/** Bits per second for each pixel of a frame: a full-HD diagram gets 8 Mbit/s. */
const BITS_PER_PIXEL = 4;
/** A player can begin at every such frame. */
const KEY_EVERY = 50;
/** Frames that may wait in the encoder, so that memory stays bounded. */
const WAITING_MAX = 4;

const [EBML, SEGMENT, INFO, TRACKS, TRACK, VIDEO, CLUSTER, SIMPLE_BLOCK] = [0x1a45dfa3, 0x18538067, 0x1549a966, 0x1654ae6b, 0xae, 0xe0, 0x1f43b675, 0xa3];

/**
 * @param {any} window with VideoEncoder and VideoFrame
 * @param {number} width px, even
 * @param {number} height px, even
 */
export async function makeWebm({ VideoEncoder, VideoFrame, setTimeout }, width, height) {
  const made = { bytes: 0, at_ms: 0, count: 0, name: "", error: null };
  /** @type {{at_ms: number, key: boolean, data: Uint8Array}[]} */
  const blocks = [];
  const encoder = new VideoEncoder({
    output(chunk) {
      const data = new Uint8Array(chunk.byteLength);
      chunk.copyTo(data);
      made.bytes += data.length;
      blocks.push({ at_ms: chunk.timestamp / 1000, key: chunk.type === "key", data });
    },
    error: (reason) => (made.error = reason),
  });
  for (const { codec, name } of CODECS) {
    const config = { codec, width, height, bitrate: width * height * BITS_PER_PIXEL, latencyMode: "quality" };
    if (made.name || !(await VideoEncoder.isConfigSupported(config)).supported) continue;
    encoder.configure(config);
    made.name = name;
  }
  if (!made.name) throw new Error("This browser encodes neither VP9 nor VP8 in this size. Choose GIF.");

  return {
    /** @param {ImageData} frame @param {number} ms how long it is shown */
    async add(frame, ms) {
      const picture = new VideoFrame(frame.data, { format: "RGBA", codedWidth: width, codedHeight: height, timestamp: made.at_ms * 1000, duration: ms * 1000 });
      encoder.encode(picture, { keyFrame: made.count % KEY_EVERY === 0 });
      picture.close();
      made.count += 1;
      made.at_ms += ms;
      while (encoder.encodeQueueSize > WAITING_MAX && !made.error) await new Promise((resolve) => setTimeout(resolve, 5));
      if (made.error) throw made.error;
    },
    size: () => made.bytes,
    async finish() {
      await encoder.flush();
      encoder.close();
      return new Blob([webmOf(blocks, { width, height, codec: made.name, length_ms: made.at_ms })], { type: "video/webm" });
    },
    close: () => encoder.state !== "closed" && encoder.close(),
  };
}

/**
 * @param {{at_ms: number, key: boolean, data: Uint8Array}[]} blocks in order, the first a key frame
 * @param {{width: number, height: number, codec: string, length_ms: number}} given
 * @returns {Uint8Array<ArrayBuffer>} a WebM file
 */
export function webmOf(blocks, { width, height, codec, length_ms }) {
  const header = box(EBML, box(0x4286, uint(1)), box(0x42f7, uint(1)), box(0x42f2, uint(4)), box(0x42f3, uint(8)), box(0x4282, text("webm")), box(0x4287, uint(4)), box(0x4285, uint(2)));
  const info = box(INFO, box(0x2ad7b1, uint(1_000_000)), box(0x4489, float(length_ms)), box(0x4d80, text("Failover Lab")), box(0x5741, text("Failover Lab")));
  const track = box(TRACK, box(0xd7, uint(1)), box(0x73c5, uint(1)), box(0x83, uint(1)), box(0x86, text(codec)), box(VIDEO, box(0xb0, uint(width)), box(0xba, uint(height))));
  const clusters = [];
  for (const block of blocks) {
    if (block.key) clusters.push([]);
    clusters.at(-1).push(block);
  }
  return joined([header, box(SEGMENT, info, box(TRACKS, track), ...clusters.map(clusterOf))]);
}

function clusterOf(blocks) {
  const from_ms = Math.round(blocks[0].at_ms);
  const simple = ({ at_ms, key, data }) => {
    const after_ms = Math.round(at_ms) - from_ms; // at most KEY_EVERY frames of 200 ms: it fits into 16 bits with a sign
    return box(SIMPLE_BLOCK, new Uint8Array([0x81, after_ms >> 8, after_ms & 255, key ? 0x80 : 0]), data);
  };
  return box(CLUSTER, box(0xe7, uint(from_ms)), ...blocks.map(simple));
}

/** An element: its id, the size of its content in eight bytes, its content. */
function box(id, ...parts) {
  const content = joined(parts);
  const size = new Uint8Array(8);
  new DataView(size.buffer).setBigUint64(0, (1n << 56n) | BigInt(content.length));
  return joined([uint(id), size, content]);
}

/** A whole number without leading zero bytes. */
function uint(value) {
  const bytes = [];
  for (let rest = value; rest > 0 || bytes.length === 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return new Uint8Array(bytes);
}

function float(value) {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setFloat64(0, value);
  return bytes;
}

const text = (value) => new TextEncoder().encode(value);

function joined(parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
