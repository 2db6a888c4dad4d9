/**
 * Draws a state machine from the engine's own table: the present state filled, the last move thick and with a dot.
 * Moves that are possible from the present state are in ink, the others pale. The number under a state is how many are in it. The same as
 * text is the diagram's name for screen readers.
 */

import { layMachine } from "../layout/machine.js";

const SVG = "http://www.w3.org/2000/svg";

/** @returns {SVGSVGElement} an empty diagram */
export function makeDiagram(document) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "machine");
  svg.setAttribute("role", "img");
  return svg;
}

/**
 * @param {SVGSVGElement} svg
 * @param {{start: string, moves: object}} machine
 * @param {{name: string, now: string | null, last: {from: string | null, to: string} | null, counts: Object<string, number>, scale: number, turned: boolean}} given
 */
export function drawMachine(document, svg, machine, given) {
  const { now, last, counts, scale } = given;
  const laid = layMachine(machine, given);
  const parts = [];
  const put = (name, attributes, text) => {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
    if (text !== undefined) node.textContent = text;
    parts.push(node);
  };
  const moved = (edge) => last !== null && edge.from === last.from && edge.to === last.to;
  const rank = (edge) => (moved(edge) ? 2 : edge.from === now ? 1 : 0); // the most important ones are drawn last
  for (const edge of [...laid.edges].sort((a, b) => rank(a) - rank(b))) {
    const look = ["", "open", "moved"][rank(edge)];
    put("path", { class: `move ${look}`, d: edge.path });
    put("path", { class: `head ${look}`, d: `M0 0L${-7 * scale} ${-3.6 * scale}L${-7 * scale} ${3.6 * scale}Z`, transform: `translate(${edge.head[0]} ${edge.head[1]}) rotate(${edge.angle})` });
    if (moved(edge)) put("circle", { class: "moved", cx: edge.middle[0], cy: edge.middle[1], r: 4 * scale });
  }
  for (const node of laid.nodes) {
    const here = node.state === now ? "now" : "";
    put("rect", { class: `state ${here} ${node.last ? "end" : ""}`, x: node.x, y: node.y, width: node.width, height: node.height, rx: 6 * scale });
    if (node.last) put("rect", { class: `state inner ${here}`, x: node.x + 3 * scale, y: node.y + 3 * scale, width: node.width - 6 * scale, height: node.height - 6 * scale, rx: 4 * scale });
    put("text", { class: `name ${here}`, x: node.x + node.width / 2, y: node.y + 17 * scale }, node.state);
    put("text", { class: `count ${here}`, x: node.x + node.width / 2, y: node.y + 31 * scale }, String(counts[node.state] ?? 0));
  }
  svg.replaceChildren(...parts);
  svg.setAttribute("viewBox", `0 0 ${laid.width} ${laid.height}`);
  svg.setAttribute("width", String(laid.width));
  svg.setAttribute("height", String(laid.height));
  svg.setAttribute("aria-label", wordsOfMachine(machine, given));
}

/** @returns {string} the diagram as text, for screen readers */
function wordsOfMachine({ moves }, { name, now, last, counts }) {
  const states = Object.keys(moves).map((state) => `${state} ${counts[state] ?? 0}`);
  const moved = last ? ` The last move: ${last.from ? `from ${last.from} ` : ""}to ${last.to}.` : "";
  return `${name}: ${now ?? "none"} now.${moved} How many are in each state: ${states.join(", ")}.`;
}
