/** The picture of a group lab: cards inside their nodes, the leader inside its own, everything inside the picture, at every width. */

import assert from "node:assert/strict";
import test from "node:test";
import { flightLabels } from "../../static/js/protocols/emqx/render/group_nodes.js";
import { pointOn } from "../../static/js/layout/plane.js";
import { makeGroupPlane } from "../../static/js/protocols/emqx/layout/group_plane.js";

const WIDTHS_PX = [360, 799, 800, 1034, 1864];
const EDGE_PX = 1;

/** Planes of one to three nodes with few or many clients each, and the leader at any of them or at none. */
function* planes() {
  const crowds = [0, 1, 2, 8, 9, 60];
  for (const width of WIDTHS_PX) {
    for (const count of [1, 2, 3]) {
      const nodes = Array.from({ length: count }, (_, at) => `n${at + 1}`);
      for (const [turn, most] of crowds.entries()) {
        const clients = nodes.flatMap((node, at) => Array.from({ length: at % 2 === 0 ? most : crowds[turn - 1] ?? 0 }, (_, number) => ({ name: `${node}-c${number}`, node })));
        const pairs = nodes.slice(1).map((node) => [nodes[0], node]);
        for (const home of [...nodes, null]) {
          for (const scale of [1, 1.4]) yield { width, home, plane: makeGroupPlane({ width, scale, nodes, clients, home, pairs }) };
        }
      }
    }
  }
}

const holds = (outer, inner, edge = 0) =>
  inner.x >= outer.x + edge - 1e-6 && inner.y >= outer.y + edge - 1e-6 && inner.x + inner.width <= outer.x + outer.width - edge + 1e-6 && inner.y + inner.height <= outer.y + outer.height - edge + 1e-6;
const apart = (a, b) => a.x + a.width <= b.x + 1e-6 || b.x + b.width <= a.x + 1e-6 || a.y + a.height <= b.y + 1e-6 || b.y + b.height <= a.y + 1e-6;
const words = (plane, width) => JSON.stringify({ width, home: plane.home, leader: plane.leader, nodes: plane.nodes.map(({ name, box, cards }) => ({ name, box, cards: cards.length })) });

test("the leader's card is inside its node and does not overlap clients' cards", () => {
  for (const { width, home, plane } of planes()) {
    const at_home = plane.nodes.find(({ name }) => name === home);
    if (at_home) assert.ok(holds(at_home.box, plane.leader, 4), words(plane, width));
    for (const { name, box, cards } of plane.nodes) {
      if (name !== home && home !== null) assert.ok(apart(box, plane.leader), words(plane, width));
      for (const card of cards) assert.ok(apart(card, plane.leader), words(plane, width));
    }
  }
});

test("nodes with their edges are inside the picture, and cards inside their nodes", () => {
  for (const { width, plane } of planes()) {
    const picture = { x: 0, y: 0, width, height: plane.foot + EDGE_PX };
    assert.ok(holds(picture, plane.leader), words(plane, width));
    plane.nodes.forEach(({ box, cards }, at) => {
      assert.ok(holds(picture, box, EDGE_PX), words(plane, width));
      for (const card of cards) assert.ok(holds(box, card), words(plane, width));
      for (const other of plane.nodes.slice(at + 1)) assert.ok(apart(box, other.box), words(plane, width));
    });
  }
});

test("names of messages in flight cover neither a node nor the leader", () => {
  let named = 0;
  for (const { width, plane } of planes()) {
    for (const trunk of plane.trunks) {
      const places = [0.1, 0.5, 0.9].map((share, at) => ({ flight: { what: ["leader-connect-response", "ping", "update-progress"][at], client: "ben" }, x: pointOn(trunk.points, share)[0], y: pointOn(trunk.points, share)[1] }));
      const placed = flightLabels(places, plane, { measure: (text) => text.length * 7, height: 15, bounds: { width, height: plane.foot + 20 } });
      named += placed.length;
      const between_two = plane.nodes.length === 2 && width >= 1034 && plane.scale === 1;
      if (between_two) assert.ok(placed.length > 0, `no message is named: ${words(plane, width)}`);
      for (const [at, label] of placed.entries()) {
        assert.ok(apart(label, plane.leader), words(plane, width));
        for (const { box } of plane.nodes) assert.ok(apart(label, box), words(plane, width));
        for (const other of placed.slice(at + 1)) assert.ok(apart(label, other));
      }
    }
  }
  assert.ok(named > 500, `${named} messages have a name`);
});
