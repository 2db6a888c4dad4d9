/**
 * Names beside the lanes and latencies beside the links, as buttons over the canvas.
 * Those with a dotted underline open a menu with faults, by pointer or by keyboard.
 */

import { pointOn } from "../../../layout/plane.js";
import { span, unbroken } from "../../../model/format.js";
import { prepared } from "../../../render/canvas.js";
import { element, setText } from "../../../render/dom.js";
import { freeCell } from "../../../render/glyphs.js";

/** The problem of a cluster's lane, as text beside its name. It is derived from the state, never from the drawing. */

/** A replicator's error other than a broken connection: the peer refuses the start. */
const REFUSED = /^(?!disconnected:|no connection)./;

/**
 * @param {{name: string, state: string, topic?: object, cursor?: object}} lane the cluster and its state, the watched topic there, the subscription's cursor
 * @param {string[]} names of its consumers of the watched subscription
 * @param {{turned: boolean, clusters: Record<string, object>, links: Record<string, object>, topic: string}} around whether lanes are columns, clusters and links of the view, the watched topic
 * @returns {string} "" without a problem
 */
export function troubleWords(lane, names, { turned, clusters, links, topic }) {
  if (lane.state === "down") return "down";
  if (lane.state === "lost") return "lost permanently";
  const blocked = names.filter((name) => lane.cursor.consumers[name].state === "blocked");
  if (blocked.length) return `${blocked.join(", ")} blocked`;
  if (lane.topic?.loaded === false) return "topic not loaded";
  if (turned) return ""; // the crossed link shows it, and a column has no room
  // A peer that is down, or that has not loaded the topic, is reported at its own lane.
  const answers = (peer) => clusters[peer]?.state === "up" && clusters[peer].topics?.[topic]?.loaded !== false;
  const stopped = Object.entries(lane.topic?.replicators ?? {}).filter(([peer, replicator]) => replicator.state === "disconnected" && answers(peer));
  const cut = (peer) => [`${lane.name} -> ${peer}`, `${peer} -> ${lane.name}`].some((link) => links[link]?.state === "cut");
  const words = { "cannot reach": [], "does not replicate to": [], "is reconnecting to": [] };
  for (const [peer, { last_error }] of stopped) words[cut(peer) ? "cannot reach" : REFUSED.test(last_error ?? "") ? "does not replicate to" : "is reconnecting to"].push(unbroken(peer));
  const [worst] = Object.entries(words).filter(([, peers]) => peers.length > 0);
  return worst ? `${worst[0]} ${worst[1].join(", ")}` : "";
}

/**
 * @param {Document} document
 * @param {HTMLElement} layer over the canvas
 * @param {{onCluster: (name: string, at: Element) => void, onConsumer: (cluster: string, at: Element) => void, onLink: (pair: string[], at: Element) => void}} on
 */
export function makeHeadings(document, layer, on) {
  const lanes = new Map();
  const links = new Map();

  function laneOf(name) {
    if (lanes.has(name)) return lanes.get(name);
    const swatch = element(document, "canvas.swatch", { "aria-hidden": "true" });
    const cluster = element(document, "button.handle.name", { onclick: (event) => on.onCluster(name, event.currentTarget) }, [element(document, "span", { text: name })]);
    const role = element(document, "span.role");
    const consumers = element(document, "button.handle.consumers", { onclick: (event) => on.onConsumer(name, event.currentTarget) }, [element(document, "span")]);
    const trouble = element(document, "span.trouble");
    const box = element(document, "div.lane-heading", {}, [swatch, element(document, "div.lane-words", {}, [cluster, role, consumers, trouble])]);
    layer.append(box);
    const made = { box, swatch, role, consumers, trouble };
    lanes.set(name, made);
    return made;
  }

  function linkOf(pair) {
    const key = pair.join("|");
    if (links.has(key)) return links.get(key);
    const button = element(document, "button.handle.link", { onclick: (event) => on.onLink(pair, event.currentTarget) }, [element(document, "span")]);
    layer.append(button);
    links.set(key, button);
    return button;
  }

  return {
    update(scene, state, theme, ratio) {
      const { plane, watched } = scene;
      const seen = new Set();
      plane.lanes.forEach((lane) => {
        seen.add(lane.name);
        const made = laneOf(lane.name);
        place(made.box, plane, lane);
        fill(document, made, scene, state, lane);
        paintSwatch(made.swatch, watched.clusters.indexOf(lane.name), theme, ratio);
      });
      for (const [name, made] of lanes) if (!seen.has(name)) made.box.remove(), lanes.delete(name);
      const pairs = pairsOf(scene.arcs);
      const named = new Set(pairs.map((pair) => pair.names.join("|")));
      for (const [key, button] of links) if (!named.has(key)) button.remove(), links.delete(key);
      for (const pair of pairs) placeLink(linkOf(pair.names), pair, plane, state.view);
    },
  };
}

function place(box, plane, lane) {
  if (plane.turned) {
    const column = plane.width / plane.lanes.length;
    Object.assign(box.style, { left: `${lane.base + plane.flags - column}px`, top: "0px", width: `${column}px`, height: `${plane.a0 - 4}px` });
  } else {
    Object.assign(box.style, { left: "0px", top: `${lane.base - 6 * plane.scale}px`, width: `${plane.a0 - 14}px`, height: "auto" });
  }
}

function fill(document, made, scene, state, lane) {
  const { watched } = scene;
  const held = scene.lanes[lane.name];
  const names = Object.keys(held.cursor?.consumers ?? {});
  const reads = names.length > 0;
  setText(made.role, roleOf(scene, state.view, lane.name, reads));
  made.role.hidden = !made.role.textContent;
  setText(made.consumers.firstChild, names.length === 1 ? names[0] : `${names.length} consumers`);
  made.consumers.hidden = !reads;
  setText(made.trouble, troubleWords({ ...held, name: lane.name }, names, { turned: scene.plane.turned, clusters: state.view.clusters, links: state.view.links, topic: watched.topic }));
  made.box.classList.toggle("down", held.state !== "up");
  made.box.classList.toggle("target", lane.name === watched.target);
}

/** Role of a cluster for the watched subscription; empty for a cluster that is down. A turned lane has no room for the subscription's name. */
function roleOf({ plane, lanes, watched }, view, cluster, reads) {
  if (lanes[cluster].state !== "up") return "";
  if (reads) return plane.turned ? "active" : `${watched.subscription} active`;
  if (lanes[cluster].cursor) return "standby";
  return audienceWords(view, cluster, watched.topic) ?? (plane.turned ? "none here" : `no ${watched.subscription ?? "subscription"} here`);
}

/** The audience of the topic in a cluster, if there is one. */
function audienceWords(view, cluster, topic) {
  const found = Object.entries(view.audiences ?? {}).find(([, one]) => one.cluster === cluster && one.topic === topic);
  return found ? `${found[1].connected} connected: ${found[0].split("/")[0]}` : null;
}

function paintSwatch(canvas, origin, theme, ratio) {
  const key = `${origin}|${theme.ink.bg}|${theme.scale}|${ratio}`;
  if (canvas.dataset.drawn === key) return;
  canvas.dataset.drawn = key;
  const size = 15 * theme.scale;
  const context = prepared(canvas, size * 0.66, size, ratio);
  freeCell(context, Math.max(0, origin), size * 0.33, size / 2, size * 0.62, size, theme.origin[Math.max(0, origin) % theme.origin.length], theme.ink.bg);
}

/** "40 ms", or "300 / 40 ms" when the two directions differ. */
function latencies(texts) {
  const [one, other] = [...new Set(texts)];
  if (other === undefined) return one;
  const unit = / \S+$/.exec(other)?.[0];
  return `${unit && one.endsWith(unit) ? one.slice(0, -unit.length) : one} / ${other}`;
}

/** Combines the two directed arcs of a link to one pair with one button. */
function pairsOf(arcs) {
  const pairs = new Map();
  for (const arc of arcs) {
    const names = [arc.from, arc.to].sort();
    const key = names.join("|");
    if (!pairs.has(key)) pairs.set(key, { names, arcs: [] });
    pairs.get(key).arcs.push(arc);
  }
  return [...pairs.values()];
}

function placeLink(button, pair, plane, view) {
  const outer = pair.arcs.find((arc) => arc.outer) ?? pair.arcs[0];
  const [x, y] = pointOn(outer.points, 0.5);
  Object.assign(button.style, plane.turned ? { left: `${x}px`, top: `${y - 2}px`, transform: "translate(-50%, -50%)" } : { left: `${x + 5}px`, top: `${y}px`, transform: "translateY(-50%)" });
  const states = pair.arcs.map((arc) => view.links[arc.name]);
  const words = latencies(states.map((link) => (link.state === "cut" ? "cut" : span(link.latency_us))));
  setText(button.firstChild, words);
  button.setAttribute("aria-label", `link between ${pair.names.join(" and ")}, ${words}`);
  button.classList.toggle("broken", states.some((link) => link.state === "cut"));
  button.classList.toggle("slowed", states.some((link) => link.slowed));
}
