/** Theme, projector mode and reduced motion: chosen in the page or by the system, and stored per browser. */

import { readTheme } from "../render/theme.js";
import { TURN_BELOW_PX } from "../layout/plane.js";
import { required, setText } from "../render/dom.js";
import { spacetimeHeight } from "../render/time_axes.js";

/** Least height of a turned picture, whose lanes run down the page, px; in a frame, which is itself low, less. */
const LOWEST_TURNED_PX = { page: 430, frame: 300 };
/** Under the lanes and their labels: the legend with the tabs, and the least height of the curve with its axis, px. */
const [UNDER_PX, CURVE_PX] = [64, 128];
const KEY = "failover-lab.appearance";

export function makeAppearance(document, root, window, onChange) {
  const html = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
  const theme_button = required(root, "[data-act=theme]");
  const mode_button = required(root, "[data-act=projector]");
  const logs = required(root, ".logs");
  const transport = required(root, ".transport");
  const time = required(root, "[data-part=time]");
  const lower = required(root, ".lower");
  const stages = /** @type {HTMLElement[]} */ ([...logs.querySelectorAll(".stage")]);
  let theme = null;

  const isDark = () => (html.dataset.theme ? html.dataset.theme === "dark" : dark.matches);
  function changed() {
    theme = null;
    setText(theme_button, isDark() ? "Light" : "Dark");
    mode_button.setAttribute("aria-pressed", String(html.dataset.mode === "projector"));
    onChange();
  }
  theme_button.addEventListener("click", () => {
    html.dataset.theme = isDark() ? "light" : "dark";
    remember(window, html);
    changed();
  });
  mode_button.addEventListener("click", () => {
    if (html.dataset.mode) delete html.dataset.mode;
    else html.dataset.mode = "projector";
    remember(window, html);
    changed();
  });
  dark.addEventListener("change", changed);
  setText(theme_button, isDark() ? "Light" : "Dark");
  mode_button.setAttribute("aria-pressed", String(html.dataset.mode === "projector"));

  return {
    theme: () => (theme ??= readTheme(window.getComputedStyle(html))),
    calm: () => calm.matches,
    /** Height available for the lanes so that the sentence, the time diagram and the footer stay in view, px. Frames and tours may show the logs alone. */
    room: (theme, lanes) => {
      const framed = root.classList.contains("embedded");
      const above = logs.offsetTop + Math.max(...stages.map(({ offsetTop }) => offsetTop)); // that of the hidden one is 0
      const under = lower.clientHeight ? 0 : framed ? 8 : 44;
      const left = window.innerHeight - above - transport.offsetHeight;
      // the width of the picture decides, not that of the page: beside a margin it is narrower
      if (logs.clientWidth < TURN_BELOW_PX) return framed ? Math.max(LOWEST_TURNED_PX.frame, left - under) : Math.max(LOWEST_TURNED_PX.page, left);
      if (under) return left - under * theme.scale;
      return left - spacetimeHeight(lanes, theme.scale) - (framed ? CURVE_PX : UNDER_PX + CURVE_PX) * theme.scale;
    },
    /** Height in view from the time section's top to the footer, px. */
    spare: () => window.innerHeight - time.offsetTop - transport.offsetHeight,
  };
}

function remember(window, html) {
  try {
    window.localStorage.setItem(KEY, JSON.stringify({ theme: html.dataset.theme, mode: html.dataset.mode }));
  } catch (reason) {
    console.info(`The browser does not store the appearance: ${reason.message}`);
  }
}
