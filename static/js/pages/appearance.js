/** Theme, projector mode and reduced motion: chosen in the page or by the system, and stored per browser. */

import { readTheme } from "../render/theme.js";
import { required, setText } from "../render/dom.js";

/** As in the stylesheet: the diagram is turned on narrower pages. */
const NARROW_PX = 800;
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
    /** Height available for the lanes so that the sentence, the time diagram and the footer stay in view, px. */
    room: (theme, lanes) => {
      const above = logs.offsetTop + (html.clientWidth < NARROW_PX ? 0 : 34 * theme.scale);
      const foot = transport.offsetHeight;
      if (html.clientWidth < NARROW_PX) return Math.max(430, window.innerHeight - above - foot);
      const time = lower.clientHeight ? 34 + (lanes - 1) * 31 + 22 + 104 + 64 + 24 : 44; // a tour may show the logs alone
      return window.innerHeight - above - foot - time * theme.scale;
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
