/** Dragging a marker or message in flight: back along its link delays it, off the link would lose it. */

import assert from "node:assert/strict";
import test from "node:test";
import { pointOn } from "../../static/js/layout/plane.js";
import { draggedTo } from "../../static/js/protocols/pulsar/render/stage.js";
import { delayMessageOf, delayOf, dropOf } from "../../static/js/protocols/pulsar/transport/fault_menus.js";

const points = [100, 0, 160, 40, 160, 160, 100, 200];
const flight = { from: "a", to: "b", what: "snapshot_request", sent_us: 1_000_000, due_us: 1_040_000, number: 7 };
const at = (share) => {
  const [x, y] = pointOn(points, share);
  return { x: x + 2, y, scale: 1 };
};

test("dragged back, a marker is so slow that it is there at the instant shown", () => {
  const { kind, by_us } = draggedTo(points, flight, 1_030_000, at(0.5));
  assert.equal(kind, "delay");
  assert.ok(Math.abs(by_us - 20_000) < 2_000, `${by_us}`); // 30 ms for half of the link are 60 ms for all of it
  assert.ok(draggedTo(points, flight, 1_030_000, at(0)).by_us > 1_000_000, "to its sender: for long, but not for ever");
});

test("dragged forward or hardly at all, nothing happens to it", () => {
  assert.equal(draggedTo(points, flight, 1_030_000, at(0.9)).kind, "none");
  assert.equal(draggedTo(points, flight, 1_030_000, at(0.76)).kind, "none");
});

test("dragged off the link it is dropped, farther off on a projector", () => {
  assert.equal(draggedTo(points, flight, 1_030_000, { x: 220, y: 100, scale: 1 }).kind, "drop");
  assert.notEqual(draggedTo(points, flight, 1_030_000, { x: 182, y: 100, scale: 2 }).kind, "drop");
});

test("the commands are those of the menu", () => {
  const fault = { cluster: "a", peer: "b", type: "snapshot_request" };
  assert.deepEqual(dropOf(flight), { command: { do: "marker.drop", ...fault }, before_us: 1_000_000 });
  assert.deepEqual(delayOf(flight, 19_600), { command: { do: "marker.delay", ...fault, by: "20ms" }, before_us: 1_000_000 });
});

test("a message is delayed by a link that is slow only when it is sent, and then as before", () => {
  const message = { ...flight, what: "message", producer: "web", number: 3 };
  const heal = { do: "link.heal", link: "a -> b" };
  const slow = (latency) => ({ do: "link.slow", link: "a -> b", latency });
  const before_us = 1_000_000;
  assert.deepEqual(delayMessageOf(message, 200_000, { latency_us: 40_000, slowed: false }), { command: slow("240ms"), before_us, then: { command: heal, at_us: before_us } });
  assert.deepEqual(delayMessageOf(message, 200_000, { latency_us: 90_000, slowed: true }).then.command, slow("90ms"));
});
