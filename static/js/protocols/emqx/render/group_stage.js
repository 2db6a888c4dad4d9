/**
 * The main picture of a group lab: nodes with clients and their leases around the leader, below them the leader's table.
 * The table has a tape for each stream. The static part is redrawn when the state, the size, the theme or the choice changed; leases and
 * messages in flight on every animation frame.
 */

import { pointOn } from "../../../layout/plane.js";
import { span } from "../../../model/format.js";
import { foldsNeeded, groupThingAt, layStrips, layTapes, makeGroupPlane } from "../layout/group_plane.js";
import { badgeOf, clientOf, clientsOf, countsOf, foldsOf, leaderOf, tapesOf } from "../model/groups.js";
import { clientWords, flightPlaces, paintDials, paintFlights, paintLeaderDials, paintNodes } from "./group_nodes.js";
import { mostNotable, paintStrips, paintTapes } from "./group_tapes.js";
import { prepared } from "../../../render/canvas.js";
import { element, required, setText } from "../../../render/dom.js";
import { markAs, onlyChosen, paintWithChosen } from "../../../render/marks.js";
import { fontOf } from "../../../render/theme.js";

/**
 * Makes many small buttons a single tab stop: arrows move the focus between them.
 * They follow the rows of the buttons; Home and End move to the first and the last.
 */

const STEPS = { ArrowRight: () => 1, ArrowLeft: () => -1, ArrowDown: (across) => across, ArrowUp: (across) => -across };

/** @param {HTMLElement} layer that contains the buttons */
export function makeRoving(layer) {
  const sets = new Map(); // by name: {buttons, across, at}

  layer.addEventListener("keydown", (event) => {
    const set = sets.get(/** @type {HTMLElement} */ (event.target).dataset?.among);
    if (!set || event.ctrlKey || event.metaKey || event.altKey) return;
    const last = set.buttons.length - 1;
    const to = event.key === "Home" ? 0 : event.key === "End" ? last : STEPS[event.key] ? Math.max(0, Math.min(last, set.at + STEPS[event.key](set.across))) : null;
    if (to === null) return;
    event.preventDefault();
    event.stopPropagation();
    choose(set, to);
    set.buttons[to].focus();
  });

  function choose(set, to) {
    set.at = to;
    set.buttons.forEach((button, place) => {
      const stop = place === to ? "0" : "-1";
      if (button.getAttribute("tabindex") !== stop) button.setAttribute("tabindex", stop);
    });
  }

  return {
    /** @param {Map<string, {buttons: HTMLElement[], across: number}>} wanted the present sets; across: number of buttons in a row */
    update(wanted) {
      for (const name of sets.keys()) if (!wanted.has(name)) sets.delete(name);
      for (const [name, { buttons, across }] of wanted) {
        const before = sets.get(name);
        if (before && before.buttons.length === buttons.length && before.buttons.every((one, at) => one === buttons[at])) continue;
        const kept = before ? buttons.indexOf(before.buttons[before.at]) : 0;
        const set = { buttons, across, at: 0 };
        sets.set(name, set);
        for (const button of buttons) button.dataset.among = name;
        choose(set, Math.max(0, kept));
      }
    },
  };
}

/**
 * Names in a group lab's picture as buttons over the canvas.
 * Those with a dotted underline open a menu with faults; the others open the inspector.
 */

/**
 * @param {Document} document
 * @param {HTMLElement} layer over the canvas
 * @param {(thing: object, anchor: Element) => void} onThing called when a thing was chosen: {kind: "node" | "leader" | "client" | "stream" | "link" | "fold", …}
 */
export function makeGroupHandles(document, layer, onThing) {
  const held = new Map();
  const roving = makeRoving(layer);

  function put({ key, text, label, x, y, width, classes = "", thing, drawn }) {
    let made = held.get(key);
    if (!made) {
      made = element(document, "button", { type: "button", onclick: (event) => onThing(made.thing, event.currentTarget) }, [element(document, "span")]);
      layer.append(made);
      held.set(key, made);
    }
    made.thing = thing;
    const wanted = `handle group-handle ${classes}`;
    if (made.className !== wanted) made.className = wanted; // a leader may have crashed or a link may be cut since the button was made
    setText(made.firstChild, text);
    if (label && made.getAttribute("aria-label") !== label) made.setAttribute("aria-label", label);
    const place = `${x.toFixed(1)},${y.toFixed(1)},${width ?? ""}`;
    if (made.place !== place) {
      made.place = place;
      Object.assign(made.style, { left: `${x}px`, top: `${y}px`, maxWidth: width ? `${width}px` : "" });
    }
    drawn.add(key);
  }

  return {
    /** @param {object} scene @param {import("../../../model/state.js").LabState} state */
    update(scene, state) {
      const drawn = new Set();
      for (const handle of [...ofNodes(scene, state), ...ofLeader(scene), ...ofTapes(scene), ...ofFolds(scene)]) put({ ...handle, drawn });
      for (const [key, made] of held) if (!drawn.has(key)) made.remove(), held.delete(key);
      const dense = scene.plane.nodes.filter((node) => node.dense);
      roving.update(new Map(dense.map(({ name, cards }) => [name, { buttons: cards.map(({ client }) => held.get(`dial ${client}`)), across: cards.filter(({ y }) => y === cards[0].y).length }])));
    },
  };
}

function ofNodes({ plane, clients }, state) {
  const k = plane.scale;
  const nodes = plane.nodes.flatMap(({ name, box, cards, dense }) => [
    { key: `node ${name}`, text: name, label: `node ${name}, ${state.view.clusters[name]?.state}`, x: box.x + 10 * k, y: box.y + 4 * k, classes: "name", thing: { kind: "node", node: name } },
    ...(dense ? cards.map((card) => ({ key: `dial ${card.client}`, text: "", label: `client ${card.client}, ${clientWords(clients.get(card.client))}`, x: card.x, y: card.y, width: card.width, classes: "dial", thing: { kind: "client", client: card.client } })) : cards.map((card) => ({ key: `client ${card.client}`, text: card.client, label: `client ${card.client}`, x: card.x + 64 * k, y: card.y + 5 * k, width: card.width - 70 * k, classes: clients.get(card.client)?.online ? "client" : "client trouble", thing: { kind: "client", client: card.client } }))),
  ]);
  const links = plane.trunks.map(({ a, b, points }) => {
    const link = state.view.links[`${a} -> ${b}`] ?? state.view.links[`${b} -> ${a}`];
    const [x, y] = pointOn(points, 0.5);
    const cut = state.view.links[`${a} -> ${b}`]?.state === "cut" || state.view.links[`${b} -> ${a}`]?.state === "cut";
    return { key: `link ${a} ${b}`, text: cut ? "cut" : span(link.latency_us), label: `link between ${a} and ${b}`, x: x - 18 * k, y: y + (plane.turned ? -8 : 10 * k), classes: cut ? "link broken" : link.slowed ? "link slowed" : "link", thing: { kind: "link", pair: [a, b] } };
  });
  return [...nodes, ...links];
}

function ofLeader({ plane, watched, leading, group }) {
  if (!group) return [];
  const text = leading ? `leader ${leading.number} of ${watched.group}` : group.claim ? `leader ${group.claim.leader} of ${watched.group}` : `no leader of ${watched.group}`;
  return [{ key: "leader", text, label: badgeOf(group).stable ? `${text}, stable` : text, x: plane.leader.x + 14 * plane.scale, y: plane.leader.y + 9 * plane.scale, classes: leading ? "name" : "name trouble", thing: { kind: "leader" } }];
}

const STATES = { granting: "granting", granted: "", revoking: "revoking", revoked: "revoked", free: "unassigned" };

/** @returns {string} the client to which the leader's table assigns the stream */
function leaderEntryWords(tape) {
  if (!tape.led) return "no leader";
  if (!tape.leader_entry) return tape.closed ? "read to its end" : "not found yet";
  const { owner, state } = tape.leader_entry;
  return owner ? [clientOf(owner), STATES[state]].filter(Boolean).join(", ") : "unassigned";
}

function ofTapes({ laid, plane }) {
  if (!laid.rows) return [];
  const k = plane.scale;
  return laid.rows.flatMap((row) => {
    const thing = { kind: "stream", stream: row.tape.name };
    const words = leaderEntryWords(row.tape);
    const readers = row.tape.readers.map(({ client }) => client).join(" and ") || "no client";
    const label = `stream ${row.tape.name}: leader's assignment: ${words}; read by ${readers}`;
    const name = `${row.tape.shard}/${row.tape.generation}/${row.tape.topic}`;
    if (plane.turned) return [{ key: `tape ${row.tape.name}`, text: `${name} · leader: ${words} · read by ${readers}`, label, x: 0, y: row.y - row.words + 2, width: plane.width, classes: "tape plain-handle", thing }];
    return [{ key: `tape ${row.tape.name}`, text: words, label, x: row.x0 - 22 * k, y: row.y - 4 * k, classes: "leader-entry plain-handle", thing }, { key: `name ${row.tape.name}`, text: name, label, x: 0, y: row.y + (laid.tall ? 10 : -4) * k, width: row.x0 - (laid.tall ? 24 : 72) * k, classes: "tape plain-handle", thing }];
  });
}

function ofFolds({ laid, plane }) {
  if (!laid.strips || laid.strips.length > 40) return [];
  return laid.strips.map(({ fold, x, y, height }) => ({ key: `fold ${fold.key}`, text: "expand", label: `expand ${fold.key}: ${fold.tapes.length} streams`, x: x - laid.label, y: y + height / 2 - 9 * plane.scale, classes: "magnify plain-handle", thing: { kind: "fold", key: fold.key } }));
}

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
