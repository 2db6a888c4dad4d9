/** The layout: strips, windows, labels that never overlap, arcs, axes, and the turned plane. */

import assert from "node:assert/strict";
import test from "node:test";
import { WORDS_PX, layLinks, makePlane, pointOn, shareOf, xOf, yOf } from "../../static/js/layout/plane.js";
import { entryAt, farEdge, layStrip, nearEdge, pinsOf } from "../../static/js/protocols/pulsar/layout/strip.js";
import { backOf, dragged, fitted, followingWindow, parted, WIDTHS_PX, zoomed } from "../../static/js/protocols/pulsar/layout/scene.js";
import { leftOut, placeLabels } from "../../static/js/render/labels.js";
import { NEAR_NOW, SHORTEST_US, spanFor, spanOfPeriods, ticksOf, timeZoomed, turned } from "../../static/js/render/time_axes.js";
import { sequence } from "./fixtures/lab.js";

const units = (index) => (index % 3 === 0 ? 0.4 : 1);

test("a strip ends at the head, its edges increase, and every position belongs to an entry", () => {
  const strip = layStrip({ length: 500, first_kept: 0, back: 0, unit_px: 10, a0: 100, a1: 900, units });
  assert.equal(strip.to, 500);
  assert.equal(farEdge(strip, 499), 900);
  for (let index = strip.from; index < strip.to; index++) {
    assert.ok(nearEdge(strip, index) < farEdge(strip, index));
    const middle = (nearEdge(strip, index) + farEdge(strip, index)) / 2;
    if (middle >= 100) assert.equal(entryAt(strip, middle), index);
  }
  assert.ok(nearEdge(strip, strip.from - 5) < 100, "what lies before the window stays outside");
  assert.equal(entryAt(strip, 901), null);
});

test("a strip too long for single entries has computed positions", () => {
  const strip = layStrip({ length: 5_000_000, first_kept: 0, back: 1000, unit_px: 0.01, a0: 100, a1: 900, units });
  assert.equal(strip.fine, false);
  assert.equal(strip.to, 4_999_000);
  assert.equal(strip.from, 4_999_000 - 80_000);
  assert.equal(nearEdge(strip, strip.to), 900);
});

test("trimmed entries are not laid out", () => {
  const strip = layStrip({ length: 50, first_kept: 45, back: 0, unit_px: 10, a0: 0, a1: 900, units: () => 1 });
  assert.equal(strip.from, 45);
});

test("messages get narrower at once and wider only with room to spare, and keep a width chosen by the viewer", () => {
  const wide = { unit_px: 14, back: 0, held: false };
  const shrunk = fitted(wide, 200, 1000, 1, true);
  assert.equal(shrunk.unit_px, 5);
  assert.equal(fitted(shrunk, 160, 1000, 1, true), shrunk, "a little more room changes nothing while it plays");
  assert.ok(fitted(shrunk, 60, 1000, 1, true).unit_px > 5);
  assert.ok(WIDTHS_PX.includes(fitted(shrunk, 60, 1000, 1, true).unit_px));
  const held = zoomed(wide, -1, 1);
  assert.equal(held.held, true);
  assert.equal(fitted(held, 1, 1000, 1, false), held);
  assert.equal(fitted(shrunk, 160, 1000, 1, false).unit_px, fitted(wide, 160, 1000, 1, false).unit_px, "at rest the widths before do not matter");
  assert.equal(dragged(wide, 140, 1000).back, 10);
  assert.equal(dragged(wide, -500, 1000).back, 0);
  assert.equal(followingWindow().held, false);
});

test("placed labels never overlap, are inside the bounds, and higher priorities win", () => {
  const random = sequence(7);
  for (let round = 0; round < 60; round++) {
    const requests = Array.from({ length: 30 }, (_, at) => ({
      priority: at % 5,
      height: 14,
      forms: [{ width: 20 + random() * 120, label: at, places: [0, 1, 2].map(() => ({ x: random() * 400, y: random() * 200 })) }],
    }));
    const placed = placeLabels(requests, { width: 400, height: 200 });
    assert.ok(placed.length > 0);
    for (const [at, one] of placed.entries()) {
      assert.ok(one.x >= 0 && one.y >= 0 && one.x + one.width <= 400 && one.y + one.height <= 200);
      for (const other of placed.slice(at + 1)) {
        assert.ok(one.x + one.width <= other.x || other.x + other.width <= one.x || one.y + one.height <= other.y || other.y + other.height <= one.y);
      }
    }
  }
  const place = { x: 10, y: 10 };
  const pair = placeLabels([{ priority: 5, height: 10, forms: [{ width: 50, label: "quiet", places: [place] }] }, { priority: 0, height: 10, forms: [{ width: 50, label: "hole", places: [place] }] }], { width: 200, height: 50 });
  assert.deepEqual(pair.map(({ label }) => label), ["hole"], "dropped, never shrunk");
});

test("a label that does not fit takes its shorter form", () => {
  const [placed] = placeLabels([{ priority: 0, height: 10, forms: [{ width: 90, label: "long", places: [{ x: 20, y: 0 }] }, { width: 30, label: "short", places: [{ x: 20, y: 0 }] }] }], { width: 60, height: 20 });
  assert.equal(placed.label, "short");
});

test("arcs connect two ports, and a message in flight has its share of the time", () => {
  for (const width of [1200, 390]) {
    const plane = makePlane({ width, scale: 1, names: ["a", "b", "c"], room: 500 });
    for (const arc of layLinks(plane, ["a -> b", "b -> a", "a -> c", "x -> a"])) {
      const from = plane.lanes.find((lane) => lane.name === arc.from);
      const to = plane.lanes.find((lane) => lane.name === arc.to);
      assert.deepEqual(pointOn(arc.points, 0), [xOf(plane, from, plane.port, plane.cell / 2), yOf(plane, from, plane.port, plane.cell / 2)]);
      assert.deepEqual(pointOn(arc.points, 1), [xOf(plane, to, plane.port, plane.cell / 2), yOf(plane, to, plane.port, plane.cell / 2)]);
    }
  }
  const flight = { sent_us: 1000, due_us: 3000 };
  assert.deepEqual([500, 1000, 2000, 3000, 9000].map((us) => shareOf(flight, us)), [0, 0, 0.5, 1, 1]);
  assert.equal(shareOf({ sent_us: 5, due_us: 5 }, 5), 1);
});

test("narrow pages turn the plane: lanes are columns side by side inside the page", () => {
  const plane = makePlane({ width: 390, scale: 1, names: ["a", "b", "c"], room: 500 });
  assert.equal(plane.turned, true);
  for (const lane of plane.lanes) {
    assert.ok(xOf(plane, lane, 0, 0) <= 390 && xOf(plane, lane, 0, plane.cell) > 0);
    assert.equal(yOf(plane, lane, 77, 12), 77);
  }
  const wide = makePlane({ width: 1200, scale: 1, names: ["a", "b", "c"], room: 2000 });
  assert.equal(wide.turned, false);
  assert.ok(wide.height <= 600, "lanes do not drift apart on a tall page");
});

test("the label under the last lane's bracket has a place, also in large type", () => {
  for (const [scale, type_px] of [[1, 11.5], [15 / 11.5, 15]]) {
    for (const names of [["a"], ["a", "b"], ["a", "b", "c"]]) {
      const plane = makePlane({ width: 1400, scale, names, room: 300 });
      const words = { x: 600, y: plane.lanes.at(-1).base + plane.cell + WORDS_PX * scale };
      const [placed] = placeLabels([{ priority: 3, height: Math.round(type_px * 1.25), forms: [{ width: 60, label: "18 duplicates", places: [words] }] }], plane);
      assert.ok(placed, `${names.length} lanes at ${scale}`);
    }
  }
});

test("the time window stays fixed while the now line crosses it, then moves by a page", () => {
  let window = turned(null, 0, 1_000_000);
  const pages = new Set();
  for (let now_us = 0; now_us < 5_000_000; now_us += 10_000) {
    window = turned(window, now_us, 1_000_000);
    pages.add(window.start_us);
    assert.ok(now_us >= window.start_us && now_us <= window.start_us + window.span_us * 0.93);
  }
  assert.ok(pages.size > 4 && pages.size < 16, `${pages.size} pages`);
  for (const now_us of [0, 130_000, 1_234_567, 4_900_000]) assert.deepEqual(turned(window, now_us, 1_000_000), turned(null, now_us, 1_000_000), "the page depends on the instant alone");
  const back = turned(window, 1_000_000, 1_000_000);
  assert.ok(back.start_us <= 1_000_000, "a seek back is followed");
});

test("the window of the time diagram shows three periods and at most a tenth of future", () => {
  const span_us = spanOfPeriods(1_000_000, 1);
  assert.equal(span_us, 3_000_000);
  assert.equal(spanOfPeriods(1_000_000, 10), 30_000_000, "more in fast playback, so that it is not over at once");
  assert.equal(spanOfPeriods(1_000, 0), SHORTEST_US);
  const starts = new Set();
  for (let now_us = 2_700_000; now_us < 20_000_000; now_us += 10_000) {
    const window = turned(null, now_us, span_us, NEAR_NOW);
    starts.add(window.start_us);
    const future = (window.start_us + window.span_us - now_us) / window.span_us;
    assert.ok(future >= 0 && future <= 0.1 + 1e-9, `${future} of future at ${now_us}`);
  }
  assert.ok(starts.size < 65, "it moves by steps");
  assert.equal(turned(null, 1_000_000, span_us, NEAR_NOW).start_us, 0, "a run begins at 0, whatever is to come");
});

test("ticks are round and inside the window, and spans depend on the speed", () => {
  const ticks = ticksOf(1_234_567, 2_500_000, 8);
  assert.ok(ticks.length >= 4 && ticks.length <= 9);
  assert.ok(ticks.every(({ at_us }) => at_us >= 1_234_567 && at_us <= 3_734_567 && at_us % 500_000 === 0));
  assert.equal(ticksOf(0, 200, 4)[1].text, "0.00005 s");
  assert.ok(spanFor(10) > spanFor(1));
  let window = { start_us: 0, span_us: 1_000_000, held: false };
  for (let i = 0; i < 20; i++) window = timeZoomed(window, 1, 500_000);
  assert.equal(window.span_us, SHORTEST_US);
});

test("pins and flags that are too close are drawn one level further out", () => {
  const plane = makePlane({ width: 1000, scale: 1, names: ["a", "b", "c"], room: 500 });
  const strip = layStrip({ length: 20, first_kept: 0, back: 0, unit_px: 12, a0: plane.a0, a1: plane.a1, units: () => 1 });
  const topic = { length: 20, replicators: { b: { mark_delete_index: 9 }, c: { mark_delete_index: 9 }, d: { mark_delete_index: 2 } } };
  const near = pinsOf(plane, { strip, topic, cursor: { mark_delete_index: 9, read_index: 11, ranges: [] } }, true);
  assert.deepEqual(near.flags.map((flag) => flag.level), [0, 1, 0]);
  assert.equal(near.read.level, 0, "one message wide is far enough");
  const fine = layStrip({ length: 20, first_kept: 0, back: 0, unit_px: 4, a0: plane.a0, a1: plane.a1, units: () => 1 });
  assert.equal(pinsOf(plane, { strip: fine, topic, cursor: { mark_delete_index: 9, read_index: 11, ranges: [] } }, true).read.level, 1);
});

test("lanes scroll together, or independently once they are separated", () => {
  const together = dragged(followingWindow(10), 200, 500, "b");
  assert.deepEqual([backOf(together, "a"), backOf(together, "b")], [20, 20]);
  const free = dragged(parted(together, ["a", "b"]), 300, 500, "b");
  assert.deepEqual([backOf(free, "a"), backOf(free, "b")], [20, 50]);
  assert.equal(backOf(parted(free, ["a", "b"]), "b"), 20, "together again they share one window");
});

test("a label without room is left out and named", () => {
  const request = (label, x) => ({ priority: 2, height: 14, forms: [{ width: 60, label, places: [{ x, y: 0 }] }], of: "us-east" });
  const requests = [request({ text: "first" }, 0), request({ text: "over the first" }, 20), request({ text: "free" }, 100)];
  const placed = placeLabels(requests, { width: 200, height: 20 });
  assert.equal(placed.length, 2);
  assert.deepEqual(leftOut(requests, placed), [requests[1]]);
  assert.deepEqual(leftOut(requests.slice(0, 1), placed), []);
});
