/** The section on time: space-time diagram and risk curve on one axis, one now line through both. */

import { spanFor, timeZoomed, turned } from "../layout/time_axis.js";
import { marksOf } from "../model/marks.js";
import { makeCurve } from "./curve.js";
import { required } from "./dom.js";
import { paintSpacetime, spacetimeHeight } from "./spacetime.js";

/** The curve takes what the page has left, between these heights. */
const LOWEST_CURVE_PX = 72;
const HIGHEST_CURVE_PX = 200;

/**
 * @param {Document} document
 * @param {HTMLElement} root
 * @param {{onMarker: (number: number) => void, onChange: () => void, onInstant: (at_us: number) => void}} on
 * @param {() => object | undefined} plotly
 */
export function makeTimeSection(document, root, on, plotly) {
  const section = required(root, "[data-part=time]");
  const canvas = required(section, "[data-part=spacetime]");
  const chart = required(section, "[data-part=curve]");
  const caption = required(section, "[data-part=curve-caption]");
  const curve = makeCurve(chart, plotly);
  let window = null;
  let places = [];
  let axis = null;

  section.addEventListener("click", (event) => {
    const box = section.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top - canvas.offsetTop;
    const near = places.map((place) => ({ place, far: Math.hypot(place.x - x, place.y - y) })).sort((a, b) => a.far - b.far)[0];
    if (near && near.far < 11) on.onMarker(near.place.number);
  });
  section.addEventListener("dblclick", (event) => {
    if (!axis) return;
    const x = event.clientX - section.getBoundingClientRect().left;
    on.onInstant(window.start_us + ((x - axis.x0) / (axis.x1 - axis.x0)) * window.span_us);
  });

  return {
    zoom(direction, now_us) {
      if (window) window = timeZoomed(window, direction, now_us);
      on.onChange();
    },
    /** @returns {boolean} whether a drawing of the curve is owed */
    update(state, watched, theme, { now_us, plane, ratio, wall_ms, spare }) {
      const lanes = watched.clusters;
      const width = section.clientWidth;
      const narrow = plane.turned;
      const x0 = narrow ? 72 : plane.a0;
      const x1 = narrow ? width - 10 : Math.min(width - 8, plane.a1 + 40 * theme.scale);
      const strip_px = spacetimeHeight(lanes.length, theme.scale);
      const curve_px = Math.max(LOWEST_CURVE_PX * theme.scale, Math.min(spare - strip_px - 30, HIGHEST_CURVE_PX * theme.scale));
      const height = strip_px + curve_px;
      axis = { x0, x1 };
      window = turned(window, now_us, spanFor(state.playing ? state.speed : 0));
      section.style.height = `${height + 8}px`;
      chart.style.top = `${strip_px + 8}px`;
      caption.style.top = `${narrow ? strip_px - 8 : strip_px + 16}px`;
      caption.style.width = narrow ? "auto" : `${x0 - 40}px`;
      places = paintSpacetime(canvas, state, watched, theme, {
        width,
        height,
        x0,
        x1,
        lanes,
        window,
        now_us,
        furthest_us: Math.max(now_us, state.view?.furthest_us ?? 0),
        marks: marksOf(state),
        ratio,
      });
      caption.hidden = chart.hidden = state.forecast.length > 0 && watched.peers.length === 0;
      return curve.update(state, watched, theme, { window, x0, x1, width, height: curve_px }, wall_ms);
    },
    forget: () => curve.forget(),
  };
}
