/** Draws the map of a tenant migration: the old cluster, the LookupService with its arrow, the new cluster, and the clients. */

const NS = "http://www.w3.org/2000/svg";

/**
 * @param {Document} document
 * @param {SVGElement} svg
 * @param {ReturnType<typeof import("../model/migrations.js").placesOf>} client_places places of the tenant's clients
 * @param {object} view states of the clusters, the links and the LookupService
 * @param {number} width CSS pixels
 * @param {number} scale 1, or larger on a projector
 * @param {number} most largest number of client names in one place
 */
export function drawMove(document, svg, client_places, view, width, scale, most) {
  const { tenant, mapped, from, to, source, target, nowhere } = client_places;
  const { up } = view.lookup;
  const row = 17 * scale;
  const lines = Math.max(1, ...[source, target].map((names) => Math.min(most + 1, names.length)));
  const service = 56 * scale;
  const [side, gap] = [Math.max(90, width * 0.36), Math.max(40, width * 0.28)];
  const top = service + 44 * scale;
  const height = top + 30 * scale + lines * row + 12 * scale;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("width", String(width));
  svg.setAttribute("height", String(height));
  svg.replaceChildren();
  const right = side + gap;
  const centre = width / 2;
  const drawing = { svg, side, scale };

  box(svg, centre - side / 2, 1, side, service, `service${up ? "" : " down"}`);
  write(svg, centre, 20 * scale, "LookupService", "place", "middle");
  write(svg, centre, 40 * scale, up ? `${tenant} → ${mapped}` : "is down", up ? "mapped" : "mapped refused", "middle");
  arrow(svg, centre, service + 1, mapped === from ? side / 2 : right + side / 2, top, up);
  place(0, from, source);
  if (to !== null) place(right, to, target);
  nowhere.slice(0, UNCONNECTED_SHOWN).forEach(([name, tries], index) => drawUnconnected(drawing, centre + side / 2, name, tries, 18 * scale + index * row));
  if (nowhere.length > UNCONNECTED_SHOWN) write(svg, centre + side / 2 + 10 * scale, 18 * scale + UNCONNECTED_SHOWN * row, `and ${nowhere.length - UNCONNECTED_SHOWN} more`, "quiet");
  if (to !== null) {
    link(svg, view, [side, right], from, to, top + 18 * scale, true);
    link(svg, view, [side, right], to, from, top + 34 * scale, false);
  }
  const places = [`${source.length} clients in ${from}`, ...(to === null ? [] : [`${target.length} in ${to}`]), `${nowhere.length} without a broker`];
  svg.setAttribute("aria-label", `${tenant} is in ${mapped} ${up ? "(LookupService)" : "(LookupService down)"}. ${places.join(", ")}.`);

  function place(x, cluster, names) {
    const up = view.clusters[cluster]?.state === "up";
    box(svg, x + 1, top, side - 2, height - top - 2, up ? "cluster" : "cluster down");
    write(svg, x + 12 * scale, top + 20 * scale, up ? cluster : `${cluster} is ${view.clusters[cluster]?.state}`, "place");
    names.slice(0, most).forEach((name, index) => client(drawing, x + 12 * scale, top + 42 * scale + index * row, name, source.includes(name) && target.includes(name)));
    if (names.length > most) write(svg, x + 12 * scale, top + 42 * scale + most * row, `and ${names.length - most} more`, "quiet");
  }
}

const CHARACTER_WIDTH = 7;
const UNCONNECTED_SHOWN = 3;

/** Shortens a name to fit its place. */
function fitted(name, width, scale) {
  const room = Math.max(4, Math.floor(width / (CHARACTER_WIDTH * scale)));
  return name.length <= room ? name : `${name.slice(0, room - 1)}…`;
}

function arrow(svg, x1, y1, x2, y2, answers) {
  const path = svg.ownerDocument.createElementNS(NS, "path");
  const middle = (y1 + y2) / 2;
  path.setAttribute("d", `M ${x1} ${y1} C ${x1} ${middle}, ${x2} ${middle}, ${x2} ${y2 - 3} M ${x2 - 5} ${y2 - 10} L ${x2} ${y2 - 2} L ${x2 + 5} ${y2 - 10}`);
  path.setAttribute("class", answers ? "points" : "points broken");
  svg.append(path);
}

function box(svg, x, y, w, h, name) {
  const rect = svg.ownerDocument.createElementNS(NS, "rect");
  for (const [key, value] of Object.entries({ class: name, x, y, width: w, height: h, rx: 3 })) rect.setAttribute(key, String(value));
  svg.append(rect);
}

function line(svg, x1, y1, x2, y2, name) {
  const one_line = svg.ownerDocument.createElementNS(NS, "line");
  for (const [key, value] of Object.entries({ class: name, x1, y1, x2, y2 })) one_line.setAttribute(key, String(value));
  svg.append(one_line);
}

function write(svg, x, y, text, name, anchor = "start") {
  const node = svg.ownerDocument.createElementNS(NS, "text");
  for (const [key, value] of Object.entries({ class: name, x, y, "text-anchor": anchor })) node.setAttribute(key, String(value));
  node.textContent = text;
  svg.append(node);
}

function client({ svg, side, scale }, x, y, name, open, refused = false) {
  const dot = svg.ownerDocument.createElementNS(NS, "circle");
  for (const [key, value] of Object.entries({ class: `client${open ? " both" : ""}${refused ? " refused" : ""}`, cx: x + 4 * scale, cy: y - 4 * scale, r: 4 * scale })) dot.setAttribute(key, String(value));
  svg.append(dot);
  write(svg, x + 14 * scale, y, fitted(name, side - 34 * scale, scale), refused ? "name refused" : "name");
}

/** Draws a client without a broker beside the LookupService; after a refused lookup in the colour of harm with a broken line. */
function drawUnconnected(drawing, from_x, name, tries, y) {
  const { svg, scale } = drawing;
  const x = from_x + 10 * scale;
  if (tries) line(svg, from_x + 1, y - 4 * scale, x - 1, y - 4 * scale, "wire broken");
  client(drawing, x, y, tries > 1 ? `${name} ×${tries}` : name, true, tries > 0);
}

function link(svg, view, [left, right], here, there, y, forth) {
  const replicates = Object.values(view.clusters[here]?.topics ?? {}).filter(({ replicators }) => replicators?.[there]);
  if (!replicates.length) return;
  const works = view.links[`${here} -> ${there}`]?.state === "up" && replicates.every(({ replicators }) => replicators[there].state === "started");
  line(svg, left + 4, y, right - 4, y, works ? "wire" : "wire broken");
  const [tip, back] = forth ? [right - 4, right - 11] : [left + 4, left + 11];
  const head = svg.ownerDocument.createElementNS(NS, "path");
  head.setAttribute("d", `M ${back} ${y - 4} L ${tip} ${y} L ${back} ${y + 4}`);
  head.setAttribute("class", works ? "wire" : "wire broken");
  svg.append(head);
}
