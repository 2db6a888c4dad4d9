/**
 * Names in a group lab's picture as buttons over the canvas.
 * Those with a dotted underline open a menu with faults; the others open the inspector.
 */

import { clientOf } from "../model/groups.js";
import { span } from "../../../model/format.js";
import { badgeOf } from "../model/rounds.js";
import { pointOn } from "../../../layout/plane.js";
import { element, setText } from "../../../render/dom.js";
import { clientWords } from "./group_nodes.js";
import { makeRoving } from "./roving.js";

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
