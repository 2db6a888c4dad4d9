/**
 * Places the names of messages in flight between nodes, clear of nodes, of the links' latencies and of each other.
 * Numbers only, px.
 */

import { PRIORITY, placeLabels } from "../../../render/labels.js";
import { pointOn } from "../../../layout/plane.js";

/** Distances of a name from the middle of its message, px at scale 1; the larger ones are for crowded links. */
const OFFSETS_PX = [-20, 8, -36, 24, -52, 40];

/** Position of the button with a link's latency, from the middle of its curve, px at scale 1. */
const LATENCY = { x: -22, y: 8, width: 52, height: 20 };

/**
 * @param {{flight: {what: string, client: string}, x: number, y: number}[]} places of the messages
 * @param {import("./group_plane.js").GroupPlane} plane
 * @param {{measure: (text: string) => number, height: number, bounds: {width: number, height: number}}} given height: of a line of text
 * @returns {{x: number, y: number, width: number, height: number, label: string}[]} names that have a free place; without the client's name where that is too long
 */
export function flightLabels(places, plane, { measure, height, bounds }) {
  const k = plane.scale;
  const latencies = plane.trunks.map(({ points }) => pointOn(points, 0.5)).map(([x, y]) => ({ x: x + LATENCY.x * k, y: y + (plane.turned ? -8 : LATENCY.y * k), width: LATENCY.width * k, height: LATENCY.height * k }));
  const taken = [plane.leader, ...plane.nodes.map(({ box }) => box), ...latencies];
  const requests = places.map(({ flight, x, y }) => {
    const form = (label) => {
      const width = measure(label);
      return { width, label, places: OFFSETS_PX.flatMap((offset) => [x - width / 2, x - width - 8, x + 8].map((left) => ({ x: left, y: y + offset * k }))) };
    };
    return { priority: PRIORITY.quiet, height, forms: [form(`${flight.what}, ${flight.client}`), form(flight.what)] };
  });
  return placeLabels(requests, bounds, taken);
}
