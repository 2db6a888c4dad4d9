/** Animations: which instants are shown, every bound, and files with equal bytes for equal frames. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { URL } from "node:url";
import { BYTES_MAX, checkBytes, checkPixels, FRAMES_MAX, PIXELS_MAX, planOf, planWords } from "../../static/js/model/animation.js";
import { makeGif, webmOf } from "../../static/js/render/animation_file.js";

const END_US = 60_000_000;
const asked = (more = {}) => ({ from: "4", to: "5", speed: 0.5, rate: 10, width: 640, ...more });

test("the frames are at equal distances of simulated time, the last at the end of the range", () => {
  const plan = planOf(asked(), END_US);
  assert.deepEqual([plan.instants.length, plan.instants[1], plan.instants.at(-1), plan.frame_ms], [21, 4_050_000, 5_000_000, 100]);
  assert.equal(planWords(plan), "21 frames, 2.1 s");
  assert.deepEqual(planOf(asked({ from: "300ms", to: "0.301", speed: 0.01, rate: 25 }), END_US).instants, [300_000, 300_400, 300_800]);
});

for (const [name, more, words] of [
  ["text", { from: "soon" }, /instants in seconds/],
  ["order", { from: "5", to: "5" }, /From must be before to/],
  ["end", { to: "61" }, /reaches to 60\.000 s/],
  ["frames", { from: "0", to: "40", speed: 1 }, /401 frames; at most 400/],
]) test(`a range with a wrong ${name} says what would be right`, () => assert.throws(() => planOf(asked(more), END_US), words));

test("frames, pixels and bytes have bounds that are reached", () => {
  const plan = planOf(asked({ from: "0", to: "39.9", speed: 1 }), END_US);
  assert.equal(plan.instants.length, FRAMES_MAX);
  const height = Math.floor(PIXELS_MAX / FRAMES_MAX / plan.width);
  checkPixels(plan, height);
  assert.throws(() => checkPixels(plan, height + 1), /at most 500 million/);
  checkBytes(BYTES_MAX);
  assert.throws(() => checkBytes(BYTES_MAX + 1), /more than 50 MB/);
});

/** Pixels of a picture of one row. */
const pixels = (...colours) => new Uint8ClampedArray(colours.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255, 255]));

/** A stand-in for the library that keeps what it is given. */
function recordingGifenc() {
  const frames = [];
  return {
    frames,
    GIFEncoder: () => ({ writeFrame: (indices, width, height, given) => frames.push({ indices: [...indices], width, height, ...given }), bytesView: () => [], finish() {}, bytes: () => frames }),
    quantize: () => [[1, 2, 3]],
    applyPalette: (rgba) => new Uint8Array(rgba.length / 4),
  };
}

test("a frame contains only what differs, and an equal frame makes the one before it longer", () => {
  const gifenc = recordingGifenc();
  const gif = makeGif(gifenc, 3, 1);
  gif.add(pixels(0xff0000, 0x00ff00, 0xff0000), 100);
  gif.add(pixels(0xff0000, 0x0000ff, 0xff0000), 100);
  gif.add(pixels(0xff0000, 0x0000ff, 0xff0000), 100);
  gif.finish();
  const [first, second] = gifenc.frames;
  assert.equal(gifenc.frames.length, 2);
  assert.deepEqual([first.indices, first.palette, first.transparent, first.delay], [[0, 1, 0], [[255, 0, 0], [0, 255, 0]], false, 100]);
  assert.deepEqual([second.indices, second.palette[0], second.transparentIndex, second.delay], [[1, 0, 1], [0, 0, 255], 1, 200]);
});

test("of more than 255 colours the most frequent ones are kept and the library reduces the others", () => {
  const gifenc = recordingGifenc();
  const gif = makeGif(gifenc, 258, 1);
  gif.add(pixels(0xabcdef, 0xabcdef, ...Array.from({ length: 256 }, (_, at) => at * 7)), 100);
  gif.finish();
  const { palette, indices } = gifenc.frames[0];
  assert.deepEqual([palette.length, palette[0], palette.at(-1)], [161, [0xab, 0xcd, 0xef], [1, 2, 3]]);
  assert.deepEqual(indices.slice(0, 2), [0, 0]);
});

test("equal frames give equal bytes of a GIF", async () => {
  const source = readFileSync(new URL("../../static/vendor/gifenc/gifenc.esm.js", import.meta.url), "utf8");
  const gifenc = await import(`data:text/javascript,${encodeURIComponent(source)}`);
  const made = () => {
    const gif = makeGif(gifenc, 2, 1);
    gif.add(pixels(0x123456, 0xffffff), 100);
    gif.add(pixels(0x123456, 0x000000), 2000);
    return new TextDecoder("latin1").decode(gif.finish());
  };
  assert.equal(made().slice(0, 6), "GIF89a");
  assert.equal(made(), made());
});

test("a WebM file begins a cluster with each key frame", () => {
  const block = (at_ms, key) => ({ at_ms, key, data: new Uint8Array([1, 2, 3]) });
  const file = webmOf([block(0, true), block(40, false), block(400, true)], { width: 640, height: 480, codec: "V_VP8", length_ms: 500 });
  const text = new TextDecoder("latin1").decode(file);
  assert.equal(text.split("\x1f\x43\xb6\x75").length - 1, 2);
  assert.ok(text.startsWith("\x1a\x45\xdf\xa3") && text.includes("V_VP8"));
});
