/** Finds the thing under the pointer in a group lab's picture; smaller things first. Numbers only. */

import { xAt } from "./group_tapes.js";

/** Largest distance of the pointer from a message in flight, px. */
const REACH_PX = 12;

const inside = (box, x, y) => x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height;

/**
 * @param {object} scene of the group stage
 * @param {{flight: object, x: number, y: number}[]} places of the messages in flight
 * @returns {object | null} {kind: "flight" | "client" | "leader" | "message" | "stream" | "fold" | "node", …}
 */
export function groupThingAt({ plane, laid }, places, x, y) {
  const near = places.reduce((/** @type {{flight: object, far: number} | null} */ best, place) => {
    const far = Math.hypot(place.x - x, place.y - y);
    return far <= REACH_PX && (!best || far < best.far) ? { ...place, far } : best;
  }, null);
  if (near) return { kind: "flight", flight: near.flight };
  for (const node of plane.nodes) for (const card of node.cards) if (inside(card, x, y)) return { kind: "client", client: card.client };
  if (inside(plane.leader, x, y)) return { kind: "leader" };
  const row = laid.rows?.find((one) => y >= one.y - 4 && y <= one.y + one.height - 8);
  if (row) return onTape(row, x, y);
  const strip = laid.strips?.find((one) => y >= one.y - 4 && y <= one.y + one.height + 4 && x >= one.x - laid.label && x <= one.x + one.width);
  if (strip) return { kind: "fold", key: strip.fold.key, counts: strip.counts };
  const node = plane.nodes.find(({ box }) => inside(box, x, y));
  return node ? { kind: "node", node: node.name } : null;
}

/** A chunk that is delivered and not acked; else a message, where messages are drawn apart; else the stream. */
function onTape(row, x, y) {
  const { tape, body } = row;
  const stream = { kind: "stream", stream: tape.name };
  if (x < row.x0 || x > xAt(row, tape.length)) return stream;
  const offset = Math.floor(row.first + (x - row.x0) / row.unit_px);
  const reader = tape.readers[Math.floor((y - row.y) / (body + 1)) - 1];
  if (reader?.chunk && offset >= reader.chunk[0] && offset < reader.chunk[1]) return { kind: "chunk", stream: tape.name, reader: reader.id, offset };
  return row.unit_px >= 4 ? { kind: "message", stream: tape.name, offset } : stream;
}
