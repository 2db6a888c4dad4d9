/** Dragging a marker in flight with the pointer: draws it under the pointer with what letting it go would do. */

import { span } from "../../../model/format.js";
import { glyph } from "../../../render/glyphs.js";
import { markAs } from "../../../render/marks.js";
import { fontOf } from "../../../render/theme.js";
import { draggedTo } from "../layout/flight_drag.js";

/**
 * @param {{onChange: () => void, onHold: () => void, onDelay: (flight: object, by_us: number) => void, onDrop: (flight: object) => void}} on
 */
export function makeFlightDrag(on) {
  /** @type {{flight: any, points: number[], at_us: number, x: number, y: number} | null} */
  let held = null;
  const meant = (scale) => draggedTo(held.points, held.flight, held.at_us, { x: held.x, y: held.y, scale });

  return {
    /** @returns {any} the dragged marker, or null */
    flight: () => held?.flight ?? null,
    /** Begins to drag a marker, not a message: brokers do not lose single messages of a connection. @returns {boolean} */
    grab(flight, points, at_us, { x, y }) {
      if (!flight || !points || flight.what === "message") return false;
      held = { flight, points, at_us, x, y };
      on.onHold();
      return true;
    },
    move(x, y) {
      Object.assign(held, { x, y });
      on.onChange();
    },
    /** Ends the drag; without `act` nothing happens to the marker. */
    release(scale, act) {
      if (!held) return;
      const { flight } = held;
      const { kind, by_us } = meant(scale);
      held = null;
      on.onChange();
      if (act && kind === "drop") on.onDrop(flight);
      if (act && kind === "delay") on.onDelay(flight, by_us);
    },
    paint(context, theme, scale) {
      if (!held) return;
      const { kind, by_us } = meant(scale);
      const words = { none: "drag back to delay it, off the link to drop it", delay: `delayed by ${span(by_us)}`, drop: "dropped" }[kind];
      markAs(context, "flight-marker");
      glyph(context, kind === "drop" ? "cross" : held.flight.what, held.x, held.y, 5 * scale, kind === "drop" ? theme.ink.harm : theme.ink.proto, theme.ink.bg);
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
