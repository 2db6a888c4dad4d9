/**
 * The stage of the lanes: a canvas for the static part, one for messages in flight, buttons over them, the overview above.
 * The static part is redrawn when the state, the size, the theme or the window changed; messages in flight on every animation frame.
 */

import { pointOn, shareOf } from "../../../layout/plane.js";
import { counted, span } from "../../../model/format.js";
import { dragged, followingWindow, makeScene, parted, zoomed } from "../layout/scene.js";
import { entryAt } from "../layout/strip.js";
import { markerKind } from "../model/cells.js";
import { makeHeadings } from "./headings.js";
import { paintLanes } from "./lanes.js";
import { drawFlights } from "./links.js";
import { makeMarkButtons } from "./mark_buttons.js";
import { makeExplained } from "./note.js";
import { paintOverview, rowAt } from "./overview.js";
import { prepared } from "../../../render/canvas.js";
import { element, required, setText } from "../../../render/dom.js";
import { freeCell, glyph } from "../../../render/glyphs.js";
import { markAs, onlyChosen } from "../../../render/marks.js";
import { ORIGINS, fontOf } from "../../../render/theme.js";

/** Finds the entry or the message in flight under a pointer in the picture of the lanes. Numbers only. */

/** @returns {string} the lane nearest to a point of the picture */
export function laneAt({ plane }, x, y) {
  const far = (lane) => Math.abs(plane.turned ? lane.base - plane.cell / 2 - x : lane.base + plane.cell / 2 - y);
  return plane.lanes.reduce((best, lane) => (far(lane) < far(best) ? lane : best)).name;
}

/**
 * @param {import("../layout/scene.js").Scene} scene
 * @param {number} x px in the picture
 * @param {number} y
 * @returns {{cluster: string, index: number, marker: number | null} | null} marker: its number, null for a message
 */
export function thingAt(scene, x, y) {
  const { plane } = scene;
  for (const lane of plane.lanes) {
    const offset = plane.turned ? lane.base - x : y - lane.base;
    if (offset < -plane.lift - 2 || offset > plane.cell + 6) continue;
    const held = scene.lanes[lane.name];
    const index = entryAt(held.strip, plane.turned ? y : x);
    if (index === null || !held.store || !held.strip.fine) return null;
    const at = index - held.store.first;
    if (at < 0 || at >= held.store.count) return null;
    const is_marker = markerKind(held.store.columns.kind[at]) > 0;
    return { cluster: lane.name, index, marker: is_marker ? held.store.columns.number[at] : null };
  }
  return null;
}

/** Largest distance of the pointer from a message or marker in flight, px. */
const REACH_PX = 12;

/**
 * @param {import("../layout/scene.js").Scene} scene
 * @param {object[]} flights of the watched topic
 * @param {number} at_us the instant shown
 * @returns {{flight: object, x: number, y: number} | null} the nearest one on a link; a marker is preferred to a message
 */
export function flightAt(scene, flights, at_us, x, y) {
  /** @type {{flight: object, x: number, y: number, far: number} | null} */
  let best = null;
  for (const flight of flights) {
    const arc = scene.arcs.find((one) => one.from === flight.from && one.to === flight.to);
    if (!arc || flight.sent_us > at_us || flight.due_us < at_us) continue;
    const [fx, fy] = pointOn(arc.points, shareOf(flight, at_us));
    const far = Math.hypot(fx - x, fy - y) + (flight.what === "message" ? REACH_PX / 2 : 0);
    if (far <= REACH_PX && (!best || far < best.far)) best = { flight, x: fx, y: fy, far };
  }
  return best;
}

/** What it means to drag a marker or message in flight: back along its link delays it, off the link would lose it. Numbers only. */

/** Farther from its link than this, a flight is off the link, px at scale 1. */
const OFF_PX = 34;
/** Points of a link among which the nearest is searched. */
const POINTS = 60;
/** Shorter delays are no drag, and the longest one by one drag, us. */
const SHORTEST_US = 1_000;
const LONGEST_US = 30_000_000;

/** @typedef {{kind: "none" | "delay" | "drop", by_us: number}} Dragged */

/**
 * @param {number[]} points of the link's arc
 * @param {{sent_us: number, due_us: number}} flight
 * @param {number} at_us the instant shown
 * @param {{x: number, y: number, scale: number}} pointer
 * @returns {Dragged}
 */
export function draggedTo(points, flight, at_us, { x, y, scale }) {
  let nearest = { far: Infinity, share: 0 };
  for (let step = 0; step <= POINTS; step++) {
    const [px, py] = pointOn(points, step / POINTS);
    const far = Math.hypot(px - x, py - y);
    if (far < nearest.far) nearest = { far, share: step / POINTS };
  }
  if (nearest.far > OFF_PX * scale) return { kind: "drop", by_us: 0 };
  if (nearest.share >= shareOf(flight, at_us)) return { kind: "none", by_us: 0 };
  // so slow that it would be there at the instant shown
  const whole_us = (at_us - flight.sent_us) / Math.max(1 / POINTS, nearest.share);
  const by_us = Math.round(whole_us - (flight.due_us - flight.sent_us));
  return by_us < SHORTEST_US ? { kind: "none", by_us: 0 } : { kind: "delay", by_us: Math.min(LONGEST_US, by_us) };
}

/** Dragging a marker or message in flight with the pointer: draws it under the pointer with what letting it go would do. */

/** What letting go would do. Brokers do not lose single messages of a connection, so a message has no "dropped". */
const WORDS = {
  marker: { none: () => "drag back to delay it, off the link to drop it", delay: (by) => `delayed by ${by}`, drop: () => "dropped" },
  message: { none: () => "drag back to delay it and those behind it", delay: (by) => `delayed by ${by}, those behind it wait`, drop: () => "not lost alone: let go for faults that lose it" },
};

/**
 * @param {{onChange: () => void, onHold: () => void, onDelay: (flight: object, by_us: number) => void, onDrop: (flight: object, at: {x: number, y: number}) => void}} on
 */
export function makeFlightDrag(on) {
  /** @type {{flight: any, points: number[], at_us: number, x: number, y: number} | null} */
  let held = null;
  const meant = (scale) => draggedTo(held.points, held.flight, held.at_us, { x: held.x, y: held.y, scale });

  return {
    /** @returns {any} the dragged marker or message, or null */
    flight: () => held?.flight ?? null,
    /** @returns {boolean} whether the drag has begun */
    grab(flight, points, at_us, { x, y }) {
      if (!flight || !points) return false;
      held = { flight, points, at_us, x, y };
      on.onHold();
      return true;
    },
    move(x, y) {
      Object.assign(held, { x, y });
      on.onChange();
    },
    /** Ends the drag; without `act` nothing happens to the flight. */
    release(scale, act) {
      if (!held) return;
      const { flight, x, y } = held;
      const { kind, by_us } = meant(scale);
      held = null;
      on.onChange();
      if (act && kind === "drop") on.onDrop(flight, { x, y });
      if (act && kind === "delay") on.onDelay(flight, by_us);
    },
    paint(context, theme, scale) {
      if (!held) return;
      const { kind, by_us } = meant(scale);
      const words = WORDS[held.flight.what === "message" ? "message" : "marker"][kind](span(by_us));
      paintFlight(context, theme, scale, held, kind === "drop");
      markAs(context, "text");
      context.font = fontOf(theme, theme.label, 600);
      context.textAlign = "right";
      context.textBaseline = "middle";
      context.lineJoin = "round";
      context.lineWidth = 4;
      context.strokeStyle = theme.ink.bg;
      context.strokeText(words, held.x - 10 * scale, held.y);
      context.fillStyle = kind === "drop" ? theme.ink.harm : theme.ink.ink;
      context.fillText(words, held.x - 10 * scale, held.y);
    },
  };
}

function paintFlight(context, theme, scale, { flight, x, y }, off) {
  markAs(context, flight.what === "message" ? "flight-message" : "flight-marker");
  if (flight.what === "message") freeCell(context, flight.origin % ORIGINS, x, y, 12 * scale, 12 * scale, theme.origin[flight.origin % ORIGINS], theme.ink.bg);
  else glyph(context, off ? "cross" : flight.what, x, y, 5 * scale, off ? theme.ink.harm : theme.ink.proto, theme.ink.bg);
}

/** A drag shorter than this is a click, px. */
const CLICK_PX = 4;

/**
 * @param {Document} document
 * @param {HTMLElement} root
 * @param {any} on onCluster, onConsumer, onLink, onFlight, onThing, onHold, onDelay and onDrop (a marker or message is dragged), onChange (requests a redraw), say (describes a thing), prediction (what a tour asks for)
 * @param {ReturnType<import("../model/tiles.js").makeTiles>} tiles
 */
export function makeStage(document, root, on, tiles) {
  const { stage, still, moving, overview, together } = elementsOf(root);
  const headings = makeHeadings(document, required(stage, "[data-part=handles]"), on);
  const marks = makeMarkButtons(document, required(stage, "[data-part=marks]"), on.onThing);
  const explained = makeExplained(document, stage, on.onChange);
  const writeLeftOut = leftOutIn(document, required(stage, "[data-part=left-out]"));
  let window = followingWindow();
  let [scene, drawn] = [null, null];
  let flying = { flights: [], at_us: 0 };
  let over = { x0: 0, x1: 1, longest: 1 };

  function change(next) {
    [window, drawn] = [next, null];
    on.onChange();
  }
  const dragging = makeFlightDrag({ ...on, onDrop: (flight, at) => on.onDrop(flight, spotAt(moving, at)) });
  const pan = (by_px, at) => scene && change(dragged(window, scene.plane.turned ? by_px.y : by_px.x, over.longest, laneAt(scene, at.x, at.y)));
  const zoom = (direction) => scene && change(zoomed(scene.window, direction, scene.plane.scale));
  listenToThings(moving, on, { getScene: () => scene, getFlying: () => flying, pan, zoom, dragging });
  overview.addEventListener("pointerdown", (event) => scene && change(windowAt(event, overview, over, scene, window)));
  const acts = {
    magnify: () => zoom(1),
    reduce: () => zoom(-1),
    follow: () => alignLanes(followingWindow(scene?.window.unit_px)),
    together: () => scene && alignLanes(parted(scene.window, Object.keys(scene.lanes))),
    toLogs: () => stage.focus(),
  };
  function alignLanes(next) {
    change(next);
    together.setAttribute("aria-pressed", String(next.backs === undefined));
  }

  return {
    acts,
    /** Draws the static part if something has changed. */
    update(state, watched, theme, ratio, room, lit, chosen) {
      const [width, prediction] = [stage.clientWidth, on.prediction()];
      const key = [state.epoch, state.number, state.older, watched.topic, watched.subscription, watched.target, watched.subject, width, theme.ink.bg, theme.scale, ratio, room, window.unit_px, window.back, JSON.stringify(window.backs), tiles.version(), lit?.row.seq, [...(chosen?.marks ?? [])], prediction && JSON.stringify(prediction), explained.key()].join("|");
      if (key === drawn) return;
      drawn = key;
      scene = makeScene(state, watched, { width, room, scale: theme.scale, window, asked: Boolean(prediction?.asked), ...explained.given() });
      window = scene.window;
      stage.style.height = `${scene.plane.height}px`;
      const labels = paintLanes(still, scene, state, theme, { ratio, tiles: densityOf(tiles, state, watched), lit, chosen, prediction });
      writeLeftOut(state.playing ? [] : labels); // they come and go while it plays
      for (const layer of [headings, marks, explained]) layer.update(scene, state, theme, ratio);
      overview.hidden = scene.plane.turned;
      if (!scene.plane.turned) over = paintOverview(overview, scene, theme, { ratio, tiles: densityOf(tiles, state, watched) });
    },
    /** @returns {boolean} whether messages are in flight at the instant; draws them */
    animate(state, watched, theme, at_us, ratio, chosen) {
      flying = { flights: scene ? state.flights.filter((flight) => flight.topic === watched.topic) : [], at_us };
      if (scene) paintMoving(movingContext(moving, scene, ratio, chosen), scene, state, theme, flying, dragging);
      return flying.flights.length > 0;
    },
    explain: explained.explain,
    redraw: () => (drawn = null),
    scene: () => scene,
  };
}

/** Says how many labels had no room, and on request which. */
function leftOutIn(document, box) {
  const [summary, list] = [required(box, "summary"), required(box, "ul")];
  return function write(labels) {
    box.hidden = labels.length === 0;
    setText(summary, `${counted(labels.length, "label")} without room`);
    if (list.textContent !== labels.join("")) list.replaceChildren(...labels.map((text) => element(document, "li", { text })));
  };
}

function paintMoving(context, scene, state, theme, { flights, at_us }, dragging) {
  drawFlights(context, scene, theme, flights.filter((flight) => flight !== dragging.flight()), at_us, state.flights_total);
  dragging.paint(context, theme, scene.plane.scale);
}

function movingContext(canvas, { plane }, ratio, chosen) {
  const context = prepared(canvas, plane.width, plane.height, ratio);
  return chosen ? onlyChosen(context, chosen, "flights") : context;
}

const elementsOf = (root) => ({
  stage: required(root, "[data-part=stage]"),
  still: required(root, "canvas[data-part=still]"),
  moving: required(root, "canvas[data-part=moving]"),
  overview: required(root, "canvas[data-part=overview]"),
  together: required(root, "[data-act=together]"),
});

/** A position on the canvas as an anchor for a menu. */
const spotAt = (canvas, { x, y }) => ({
  getBoundingClientRect() {
    const box = canvas.getBoundingClientRect();
    return new DOMRect(box.left + x - 6, box.top + y - 6, 12, 12);
  },
});

function listenToDrag(canvas, { onGrab, onDrag, onClick, onHover, onZoom }) {
  let from = null;
  let grabbed = null; // {move, release} of a thing that is dragged instead of the picture
  let begun = null;
  let moved = 0;
  canvas.addEventListener("pointerdown", (event) => {
    from = { x: event.clientX, y: event.clientY };
    begun = { x: event.offsetX, y: event.offsetY };
    moved = 0;
    grabbed = null;
    if (event.pointerType === "mouse") canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!from) {
      onHover(event.offsetX, event.offsetY);
      return;
    }
    const by = { x: event.clientX - from.x, y: event.clientY - from.y };
    moved += Math.abs(by.x) + Math.abs(by.y);
    if (moved < CLICK_PX) return;
    grabbed ??= onGrab(begun.x, begun.y);
    from = { x: event.clientX, y: event.clientY };
    if (grabbed) grabbed.move(event.offsetX, event.offsetY);
    else onDrag(by, begun);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (grabbed) grabbed.release(true);
    else if (from && moved < CLICK_PX) onClick(event.offsetX, event.offsetY);
    from = grabbed = null;
  });
  canvas.addEventListener("pointercancel", () => {
    grabbed?.release(false);
    from = grabbed = null;
  });
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey) return; // a plain wheel scrolls the page
      event.preventDefault();
      onZoom(event.deltaY < 0 ? 1 : -1);
    },
    { passive: false },
  );
}

/** Shares of origins in each cluster's log, from tiles, for entries outside the frames' cells. */
const densityOf = (tiles, state, watched) => (cluster) => {
  const topic = state.view.clusters[cluster]?.topics?.[watched.topic];
  return topic ? tiles.density({ branch: state.view.branch, cluster, topic: watched.topic, length: topic.length, clusters: watched.clusters.length }) : null;
};

/** The window around the clicked position of the overview. */
function windowAt(event, overview, over, scene, window) {
  const box = overview.getBoundingClientRect();
  const back = ((over.x1 - (event.clientX - box.left)) / (over.x1 - over.x0)) * over.longest;
  const shown = Math.max(...Object.values(scene.lanes).map(({ strip }) => strip.to - strip.from));
  const wanted = Math.max(0, Math.round(back - shown / 2));
  const lane = scene.plane.lanes[Math.min(scene.plane.lanes.length - 1, Math.max(0, rowAt(event.clientY - box.top, scene.plane.scale)))].name;
  return window.backs ? { ...scene.window, backs: { ...window.backs, [lane]: wanted }, held: true } : { ...scene.window, back: wanted, held: true };
}

/** Connects the pointer to the message in flight or the entry under it, and dragging and zooming to the window. */
function listenToThings(moving, on, { getScene, getFlying, pan, zoom, dragging }) {
  const hitAt = (x, y) => getScene() && flightAt(getScene(), getFlying().flights, getFlying().at_us, x, y);
  /** Begins to drag the marker or message at a point, if there is one. */
  function grabAt(x, y) {
    const hit = hitAt(x, y);
    const points = hit && getScene().arcs.find(({ from, to }) => from === hit.flight.from && to === hit.flight.to)?.points;
    if (!hit || !dragging.grab(hit.flight, points, getFlying().at_us, { x, y })) return null;
    return { move: dragging.move, release: (act) => dragging.release(getScene().plane.scale, act) };
  }

  listenToDrag(moving, {
    onGrab: grabAt,
    onDrag: pan,
    onClick: (x, y) => {
      const hit = hitAt(x, y);
      if (hit) {
        on.onFlight(hit.flight, spotAt(moving, hit));
        return;
      }
      const thing = getScene() && thingAt(getScene(), x, y);
      if (thing) on.onThing(thing);
    },
    onHover: (x, y) => {
      const hit = hitAt(x, y);
      const thing = !hit && getScene() && thingAt(getScene(), x, y);
      moving.style.cursor = thing || hit ? "pointer" : "grab";
      moving.title = thing ? on.say(thing) : hit ? `${hit.flight.what.replace("_", " ")} in flight to ${hit.flight.to}: ${hit.flight.what === "message" ? "click for faults that lose it, or drag it back to delay it" : "click to delay or drop it, or drag it back or off the link"}` : "";
    },
    onZoom: zoom,
  });
}
