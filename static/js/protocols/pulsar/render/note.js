/** Places the sentence of a tour beside the entry that it explains, with a line from one to the other. */

import { FLAG_LEVELS, FLAG_PX, FLAG_STEP_PX, WORDS_PX, xOf, yOf } from "../../../layout/plane.js";
import { element, setText } from "../../../render/dom.js";
import { indexOf, parsePosition } from "../model/positions.js";
import { farEdge, nearEdge } from "../layout/strip.js";

/** From a strip to the sentence, px at scale 1: flags of replicators and labels are between where there is room for them. */
const [AWAY_PX, NEAREST_PX] = [44, 8];
/** Height of the sentence, px at scale 1. */
const HIGH_PX = 22;
/** On a turned picture a sentence is as wide as the room between two logs; in less room than this there is none, px. */
const NARROWEST_PX = 80;
const GAP_PX = 8;

/**
 * How a tour has the picture shown, and its sentence in it.
 * @param {Document} document
 * @param {HTMLElement} stage
 * @param {() => void} onChange requests a redraw
 */
export function makeExplained(document, stage, onChange) {
  const note = makeNote(document, stage);
  /** @type {import("../../../pages/lab_view.js").Explained | null} */
  let shown = null;
  return {
    /** @param {import("../../../pages/lab_view.js").Explained | null} next */
    explain(next) {
      shown = next && { ...shown, ...next };
      onChange();
    },
    key: () => shown && JSON.stringify(shown),
    /** For the scene. */
    given: () => ({ large: shown?.large, forecast: shown?.forecast }),
    update: (scene, state) => note.update(scene, state, shown?.note ?? null),
  };
}

/** @param {Document} document @param {HTMLElement} stage */
function makeNote(document, stage) {
  const box = element(document, "p.entry-note", { "data-part": "note", hidden: true });
  const line = element(document, "i.entry-note-line", { "aria-hidden": "true", hidden: true });
  stage.append(line, box);

  return {
    /** @param {import("../layout/scene.js").Scene} scene @param {{text: string, cluster: string, position: string, at_us: number} | null} note */
    update(scene, state, note) {
      const place = note && state.at_us >= note.at_us ? placeOf(scene, note) : null;
      box.hidden = line.hidden = place === null;
      if (place === null) return;
      setText(box, note.text);
      (scene.plane.turned ? besideTurned : above)(scene.plane, place);
    },
  };

  /** Above the strip, ending near its newest entry. */
  function above(plane, { lane, along }) {
    const at = plane.lanes.indexOf(lane);
    const free = at === 0 ? lane.base : lane.base - plane.lanes[at - 1].base - plane.cell - WORDS_PX * plane.scale;
    const away = Math.max(NEAREST_PX * plane.scale, Math.min(AWAY_PX * plane.scale, free - HIGH_PX * plane.scale));
    const bottom = yOf(plane, lane, along, 0) - away;
    const x = xOf(plane, lane, along, 0);
    put(box, { right: "auto", top: "auto", bottom: `${plane.height - bottom}px`, width: "max-content", maxWidth: "none", textAlign: "left" });
    put(box, { left: `${Math.max(plane.a0, x + GAP_PX - box.offsetWidth)}px` });
    put(line, { left: `${x}px`, top: `${bottom}px`, width: "0", height: `${away - 3}px` });
  }

  /** Beside the strip: towards the middle of the picture. */
  function besideTurned(plane, { lane, along }) {
    const last = plane.lanes.length > 1 && lane === plane.lanes[plane.lanes.length - 1];
    const flags = FLAG_PX + FLAG_STEP_PX * FLAG_LEVELS;
    const edge = xOf(plane, lane, along, last ? plane.cell : 0) + (last ? -GAP_PX : Math.min(flags, plane.flags + GAP_PX));
    const side = last ? { left: "auto", right: `${plane.width - edge}px`, textAlign: "right" } : { left: `${edge}px`, right: "auto", textAlign: "left" };
    const room = plane.width / plane.lanes.length - plane.cell - plane.flags - 2 * GAP_PX;
    box.hidden = line.hidden = room < NARROWEST_PX;
    put(box, { ...side, top: "auto", bottom: `${plane.height - along + GAP_PX}px`, width: "max-content", maxWidth: `${room}px` });
    put(line, { left: `${last ? edge - room / 2 : xOf(plane, lane, along, 0)}px`, top: `${along - GAP_PX / 2}px`, width: `${last ? room / 2 + GAP_PX : edge - xOf(plane, lane, along, 0) + GAP_PX}px`, height: "0" });
  }
}

/** The middle of the entry in the window; null when the entry is not shown. */
function placeOf({ plane, lanes }, { cluster, position }) {
  const lane = plane.lanes.find(({ name }) => name === cluster);
  const { strip, topic } = lanes[cluster] ?? {};
  const index = topic ? indexOf(topic.ledgers, parsePosition(position)) : null;
  if (!lane || index === null || index < strip.from || index >= strip.to) return null;
  return { lane, along: (nearEdge(strip, index) + farEdge(strip, index)) / 2 };
}

const put = (node, style) => Object.assign(node.style, style);
