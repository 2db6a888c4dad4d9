/**
 * The page “Fidelity”: draws the comparison's charts when they come near the view, in the page's colours.
 * The figures are in the page, with names of colours; the server computes nothing.
 */

import { lazyPlotly } from "../render/plotly.js";
import { allOf, found, required } from "../render/dom.js";

const NEAR = "300px";

/** @param {{document: Document, root: HTMLElement, window: import("../render/dom.js").PageWindow}} parts */
export function openFidelity({ document, root, window }) {
  const near = new Set();
  const draw = () => near.forEach(drawOne);
  const plotly = lazyPlotly(document, window, root.dataset.plotly, draw);

  function drawOne(place) {
    const library = /** @type {any} */ (plotly());
    if (!library) return;
    const style = window.getComputedStyle(document.documentElement);
    const text = required(document, `[id="${place.dataset.chart}"]`).textContent;
    const figure = figureOf(text, (name) => style.getPropertyValue(name).trim());
    library.react(place, figure.data, figure.layout, { displayModeBar: false, responsive: true, scrollZoom: false });
  }

  const watching = new window.IntersectionObserver(
    (entries) => {
      for (const { target } of entries.filter((entry) => entry.isIntersecting)) {
        watching.unobserve(target);
        near.add(target);
        drawOne(target);
      }
    },
    { rootMargin: NEAR },
  );
  for (const place of allOf(root, "[data-chart]")) watching.observe(place);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}

/**
 * A figure with the values of the colours that it names.
 *
 * @param {string} text JSON
 * @param {(name: string) => string} valueOf
 */
export function figureOf(text, valueOf) {
  return JSON.parse(text.replaceAll(/var\((--[a-z0-9-]+)\)/g, (_, name) => valueOf(name)));
}

const root = found(document, "[data-fidelity]");
if (root) openFidelity({ document, root, window });
