/** Dragging a marker or message in flight with the pointer: draws it under the pointer with what letting it go would do. */

import { span } from "../../../model/format.js";
import { freeCell, glyph } from "../../../render/glyphs.js";
import { markAs } from "../../../render/marks.js";
import { fontOf, ORIGINS } from "../../../render/theme.js";
import { draggedTo } from "../layout/flight_drag.js";

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
