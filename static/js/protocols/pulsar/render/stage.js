/**
 * The stage of the lanes: a canvas for the static part, one for messages in flight, buttons over them, the overview above.
 * The static part is redrawn when the state, the size, the theme or the window changed; messages in flight on every animation frame.
 */

import { makeScene } from "../layout/scene.js";
import { dragged, followingWindow, parted, zoomed } from "../layout/window.js";
import { flightAt, laneAt, thingAt } from "../layout/hit.js";
import { prepared } from "../../../render/canvas.js";
import { counted } from "../../../model/format.js";
import { element, required, setText } from "../../../render/dom.js";
import { onlyChosen } from "../../../render/marks.js";
import { makeHeadings } from "./headings.js";
import { makeFlightDrag } from "./flight_drag.js";
import { paintLanes } from "./lanes.js";
import { drawFlights } from "./links.js";
import { makeExplained } from "./note.js";
import { makeMarkButtons } from "./mark_buttons.js";
import { paintOverview, rowAt } from "./overview.js";

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
