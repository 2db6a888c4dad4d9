/**
 * Makes the marks of the window focusable buttons in log order, invisible until focused.
 * Tab moves to the next mark, Enter opens the inspector. Only markers of the subject's own snapshots and messages that are delivered and not
 * acked have one. While one of the buttons has the focus they are not changed.
 */

import { nearEdge, farEdge } from "../layout/strip.js";
import { xOf, yOf } from "../../../layout/plane.js";
import { markerKind } from "../model/cells.js";
import { positionOf } from "../model/positions.js";
import { fullName } from "../model/snapshot_names.js";
import { UNACKED, OWN_MARKER } from "../model/entry_flags.js";
import { MARKER_WORDS } from "../../../render/glyphs.js";
import { nameOfMessage } from "./label_requests.js";
import { element } from "../../../render/dom.js";

/** Largest number of buttons per lane, the newest marks. */
const PER_LANE = 24;
const EVERY_MS = 500;

/**
 * @param {Document} document
 * @param {HTMLElement} layer
 * @param {(thing: {cluster: string, index: number, marker: number | null}) => void} onThing
 */
export function makeMarkButtons(document, layer, onThing) {
  let timer = null;
  let latest = null;

  function write() {
    timer = null;
    if (layer.contains(document.activeElement) || !latest) return;
    const { scene, state } = latest;
    layer.replaceChildren(...scene.plane.lanes.flatMap((lane) => marksOf(scene, state, lane).map((mark) => buttonOf(scene.plane, lane, mark))));
  }

  function buttonOf(plane, lane, { index, marker, name, from, to }) {
    const x = Math.min(xOf(plane, lane, from, 0), xOf(plane, lane, to, plane.cell));
    const y = Math.min(yOf(plane, lane, from, 0), yOf(plane, lane, to, plane.cell));
    const [width, height] = plane.turned ? [plane.cell, to - from] : [to - from, plane.cell];
    const button = element(document, "button.mark-button", { type: "button", "aria-label": name, onclick: () => onThing({ cluster: lane.name, index, marker }) });
    Object.assign(button.style, { left: `${x}px`, top: `${y}px`, width: `${Math.max(8, width)}px`, height: `${Math.max(8, height)}px` });
    return button;
  }

  return {
    update(scene, state) {
      latest = { scene, state };
      timer ??= setTimeout(write, EVERY_MS);
    },
  };
}

function marksOf(scene, state, lane) {
  const { strip, bits, store, topic } = scene.lanes[lane.name];
  const marks = [];
  if (!strip.fine || !store || !topic) return marks;
  for (let index = strip.to - 1; index >= strip.from && marks.length < PER_LANE; index--) {
    const at = index - store.first;
    const bit = bits[index - strip.from];
    if (at < 0 || at >= store.count || !(bit & (UNACKED | OWN_MARKER))) continue;
    const kind = markerKind(store.columns.kind[at]);
    const where = positionOf(topic.ledgers, index);
    const snapshot = store.columns.snapshot[at];
    const name = kind > 0 ? `${MARKER_WORDS[kind].replace("_", " ")}${snapshot >= 0 ? ` of ${fullName(state, snapshot)}` : ""}, ${lane.name} ${where}` : `${nameOfMessage(state, store, at)}, ${lane.name} ${where}, delivered, not acked`;
    marks.push({ index, marker: kind > 0 ? store.columns.number[at] : null, name, from: nearEdge(strip, index), to: farEdge(strip, index) });
  }
  return marks.reverse();
}
