/** The columns of a comparison and their table at one instant of the clock. */

import { highestFigure } from "../model/comparison.js";
import { readTheme } from "../render/theme.js";
import { makeColumn } from "./comparison_column.js";
import { makeNumbers } from "./comparison_numbers.js";

/** With reduced motion the instant shown moves in steps of this many µs. */
const CALM_STEP_US = 500_000;
/** Shortest time between two updates of the texts during playback, ms. */
const WORDS_EVERY_MS = 250;
/** As in the stylesheet. */
const NARROW_PX = 800;

/**
 * @param {{document: Document, root: HTMLElement, window: import("../render/dom.js").PageWindow}} parts
 * @param {import("../model/comparison.js").Column[]} columns
 * @param {ReturnType<import("./comparison_steering.js").makeSteering>} steering
 * @param {(column: object) => void} open
 */
export function makePicture(parts, columns, steering, open) {
  const { document, window } = parts;
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
  const most = Math.max(...columns.map((column) => column.total));
  const highest = highestFigure(columns);
  const views = columns.map((column) => makeColumn(parts, column, { most, open }));
  const numbers = makeNumbers(parts, columns);
  let theme = null;
  let words_ms = -Infinity;

  /** @returns {boolean} whether the clock is running */
  function paint(wall_ms) {
    const { at_us: exact_us, end_us, playing } = steering.at(wall_ms);
    const at_us = calm.matches && playing ? Math.floor(exact_us / CALM_STEP_US) * CALM_STEP_US : exact_us;
    theme ??= readTheme(window.getComputedStyle(document.documentElement));
    const narrow = document.documentElement.clientWidth < NARROW_PX;
    for (const view of views) view.paint({ theme, narrow, ratio: window.devicePixelRatio || 1, at_us, end_us, highest });
    steering.write(exact_us, at_us);
    if (!playing || wall_ms - words_ms >= WORDS_EVERY_MS) {
      words_ms = wall_ms;
      steering.say(at_us);
      for (const view of views) view.write(at_us);
      numbers.write(at_us);
    }
    return playing;
  }

  return {
    columns,
    paint,
    forget() {
      theme = null;
      words_ms = -Infinity;
    },
  };
}
