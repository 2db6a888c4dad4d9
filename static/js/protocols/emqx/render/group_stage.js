/**
 * The main picture of a group lab: nodes with clients and their leases around the leader, below them the leader's table.
 * The table has a tape for each stream. The static part is redrawn when the state, the size, the theme or the choice changed; leases and
 * messages in flight on every animation frame.
 */

import { makeGroupPlane } from "../layout/group_plane.js";
import { foldsNeeded, layStrips, layTapes } from "../layout/group_tapes.js";
import { groupThingAt } from "../layout/group_hit.js";
import { clientsOf, countsOf, foldsOf, leaderOf, tapesOf } from "../model/groups.js";
import { prepared } from "../../../render/canvas.js";
import { required } from "../../../render/dom.js";
import { markAs, onlyChosen, paintWithChosen } from "../../../render/marks.js";
import { flightPlaces, paintDials, paintFlights, paintLeaderDials } from "./group_dials.js";
import { makeGroupHandles } from "./group_handles.js";
import { paintNodes } from "./group_nodes.js";
import { paintStrips, mostNotable } from "./group_strips.js";
import { paintTapes } from "./group_tapes.js";
import { fontOf } from "../../../render/theme.js";

/** Largest number of tapes drawn for an expanded strip. */
const MAGNIFIED_MAX = 12;

/**
 * @param {Document} document
 * @param {HTMLElement} root
 * @param {{onThing: (thing: object, anchor: object) => void, onChange: () => void, say: (thing: object) => string}} on
 */
export function makeGroupStage(document, root, on) {
  const stage = required(root, "[data-part=group-stage]");
  const still = required(stage, "canvas[data-part=group-still]");
  const moving = required(stage, "canvas[data-part=group-moving]");
  const by_button = required(root, "[data-act=fold-by]");
  const back_button = required(root, "[data-act=fold-back]");
  const folds = makeFolds(change);
  const handles = makeGroupHandles(document, required(stage, "[data-part=group-handles]"), chosen);
  let scene = null;
  let drawn = null;
  let places = [];

  function change() {
    drawn = null;
    on.onChange();
  }
  const acts = { foldBy: folds.turn, reduce: folds.reduce, magnify: () => folds.magnifyNext(scene), toLogs: () => stage.focus() };
  by_button.addEventListener("click", acts.foldBy);
  back_button.addEventListener("click", acts.reduce);
  listenToThings(moving, { thingAt: (x, y) => scene && groupThingAt(scene, places, x, y), onThing: chosen, say: on.say });

  function chosen(thing, anchor) {
    if (thing.kind === "fold") folds.magnify(thing.key);
    else on.onThing(thing, anchor);
  }

  return {
    acts,
    update(state, watched, theme, ratio, room, _lit, marked) {
      const width = stage.clientWidth;
      const { by, magnified } = folds.choice();
      const key = [state.epoch, state.number, watched.group, width, theme.ink.bg, theme.scale, ratio, room, by, magnified, [...(marked?.marks ?? [])]].join("|");
      if (key === drawn) return;
      drawn = key;
      scene = makeScene(folds.choice(), state, watched, theme, width);
      if (!scene.plane.turned && scene.height > room) scene = makeScene(folds.choice(), state, watched, theme, width, true);
      stage.style.height = `${scene.height}px`;
      paint(still, scene, folds.choice(), state, theme, { ratio, chosen: marked });
      handles.update(scene, state);
      by_button.hidden = !scene.folded;
      back_button.hidden = !scene.folded || magnified === null;
      by_button.firstChild.textContent = by === "shard" ? "by client" : "by shard";
    },
    /** @returns {boolean} whether anything moves */
    animate(state, watched, theme, at_us, ratio, marked) {
      if (!scene) return false;
      const whole = prepared(moving, scene.plane.width, scene.height, ratio);
      const context = marked ? onlyChosen(whole, marked, "moving") : whole;
      const ticking = paintDials(context, scene, theme, at_us);
      paintLeaderDials(context, scene, theme, at_us);
      places = flightPlaces(scene.plane, state.flights.filter((flight) => flight.subscription === watched.group), at_us);
      if (scene.plane.trunks.length) paintFlights(context, scene.plane, theme, places, state.flights_total, { width: scene.plane.width, height: scene.height });
      return ticking || places.length > 0;
    },
    redraw: () => {
      drawn = null;
    },
    scene: () => scene,
  };
}

/** Writes the headings of the table: the leader's assignment at the left, the readers at the right. */
function paintHead(context, { plane, laid, head_y, group, fold, watched }, theme, by) {
  if (!group) return;
  markAs(context, "text");
  const k = plane.scale;
  context.textBaseline = "middle";
  context.font = fontOf(theme, theme.label, 600);
  context.fillStyle = theme.ink.ink;
  context.textAlign = "left";
  if (laid.strips) {
    const one_each = by === "shard" ? "shard and generation" : "client";
    fillLines(context, `Streams of ${watched.group}, one strip per ${one_each}. Upper half: the leader's assignment. Lower half: the reading client.`, plane, head_y);
    if (fold) fillLines(context, `${fold.key}: ${laid.rows.length} of ${fold.tapes.length} streams, most redeliveries at a crash first`, plane, laid.rows[0].y - laid.rows[0].words - 28 * k);
    return;
  }
  if (laid.rows.length === 0) return;
  if (plane.turned) {
    fillLines(context, "Above: the leader's assignment. Below: the reading client.", plane, head_y);
    return;
  }
  const { x1 } = laid.rows[0];
  context.fillText("assigned to", 0, head_y);
  context.fillText("read by", x1 + 12 * k, head_y);
}

/** Areas of the column headings, which the names of cursors must not cover. */
function headBoxes({ plane, laid, head_y }, theme) {
  if (plane.turned || !laid.rows?.length) return [];
  const high = theme.label + 3;
  const box = (x, width) => ({ x, y: head_y - high / 2, width, height: high });
  return [box(0, 150 * plane.scale), box(laid.rows[0].x1 + 12 * plane.scale, 120 * plane.scale)];
}

/** Writes a text in as many lines as the picture's width requires; the last line is at y. */
function fillLines(context, text, { width, scale }, y) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (context.measureText(longer).width <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  lines.forEach((line, at) => context.fillText(line, 0, y - (lines.length - 1 - at) * 15 * scale));
}

/** A position on the canvas as an anchor for a menu. */
const spotAt = (canvas, x, y) => ({
  getBoundingClientRect() {
    const box = canvas.getBoundingClientRect();
    return new DOMRect(box.left + x - 6, box.top + y - 6, 12, 12);
  },
});

/** Lays out the leader's table: tapes, or strips with the tapes of the expanded one. */
function layTable(choice, { plane }, tapes, theme) {
  const top = plane.foot + (plane.turned ? 60 : choice.compact ? 38 : 44) * plane.scale; // the heading takes two lines on a narrow page
  const given = { width: plane.width, scale: plane.scale, turned: plane.turned, top, compact: choice.compact };
  if (!foldsNeeded(tapes)) {
    const rows = layTapes(tapes, given);
    return { laid: rows, head_y: top - 26 * plane.scale, height: rows.foot + 8, folded: false };
  }
  const folds = foldsOf(tapes, choice.by);
  const strips = layStrips(folds, given);
  const fold = folds.find(({ key }) => key === choice.magnified);
  const shown = fold ? mostNotable(fold.tapes, MAGNIFIED_MAX) : [];
  const rows = layTapes(shown, { ...given, top: strips.foot + 34 * plane.scale });
  return { laid: { ...strips, ...(fold ? { rows: rows.rows, tall: rows.tall } : {}) }, fold, head_y: top - 26 * theme.scale, height: (fold ? rows.foot : strips.foot) + 8, folded: true };
}

/** @param {boolean} [compact] whether the picture is as low as possible, so that the panel below it is in view */
function makeScene(choice, state, watched, theme, width, compact = false) {
  const group = watched.group === null ? null : state.view.groups[watched.group];
  const clients = group ? clientsOf(state, watched.group) : [];
  const tapes = group ? tapesOf(state, watched.group) : [];
  const leading = group ? leaderOf(group) : null;
  const home = leading?.leader.node ?? group?.claim?.node ?? null;
  const pairs = [...new Set(Object.keys(state.view.links).map((name) => name.split(" -> ").sort().join(" ")))].map((pair) => pair.split(" "));
  const plane = makeGroupPlane({ width, scale: theme.scale, nodes: Object.keys(state.view.clusters), clients, home, pairs, compact });
  const made = { plane, watched, group, leading, counts: countsOf(tapes), tapes, clients: new Map(clients.map((one) => [one.name, one])), numbers: new Map(clients.map((one) => [one.name, one.number])), spans: state.view.spans_us };
  return { ...made, ...layTable({ ...choice, compact }, made, tapes, theme) };
}

function paint(still, scene, choice, state, theme, { ratio, chosen }) {
  const { plane, height } = scene;
  const given = { width: plane.width, height, ground: theme.ink.bg, part: "group", chosen };
  paintWithChosen(prepared(still, plane.width, height, ratio), given, (context) => paintAll(context, scene, choice, state, theme));
}

function paintAll(context, scene, choice, state, theme) {
  const { plane, laid, height } = scene;
  if (plane.nodes.length) paintNodes(context, scene, state, theme);
  paintHead(context, scene, theme, choice.by);
  const given = { width: plane.width, height, scale: plane.scale, turned: plane.turned, numbers: scene.numbers, taken: headBoxes(scene, theme) };
  if (laid.strips) paintStrips(context, laid, theme, { ...given, chosen: choice.magnified });
  if (laid.rows) paintTapes(context, laid, theme, given);
}

/** How the tapes are folded, and which strip is expanded. */
function makeFolds(onChange) {
  /** @type {"shard" | "client"} */
  let by = "shard";
  let magnified = null;

  function set(next) {
    magnified = next;
    onChange();
  }

  return {
    choice: () => ({ by, magnified }),
    turn() {
      by = by === "shard" ? "client" : "shard";
      set(null);
    },
    reduce: () => set(null),
    /** Expands a strip, or collapses it when it is expanded already. */
    magnify: (key) => set(magnified === key ? null : key),
    magnifyNext(scene) {
      if (!scene?.laid.strips) return;
      const keys = scene.laid.strips.map(({ fold }) => fold.key);
      set(keys[(keys.indexOf(magnified) + 1) % keys.length]);
    },
  };
}

/** Connects the pointer: a click chooses the thing under it, hovering shows its description. */
function listenToThings(moving, { thingAt, onThing, say }) {
  moving.addEventListener("click", (event) => {
    const thing = thingAt(event.offsetX, event.offsetY);
    if (thing) onThing(thing, spotAt(moving, event.offsetX, event.offsetY));
  });
  moving.addEventListener("pointermove", (event) => {
    const thing = thingAt(event.offsetX, event.offsetY);
    moving.style.cursor = thing ? "pointer" : "default";
    const words = thing ? say(thing) : "";
    if (moving.title !== words) moving.title = words;
  });
}
