/** Theme, projector mode, motion: chosen in the page or by the system, remembered per browser. */

import { readTheme } from "../render/theme.js";
import { required, setText } from "../render/dom.js";

const KEY = "failover-lab.appearance";

export function makeAppearance(document, root, window, onChange) {
  const html = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
  const theme_button = required(root, "[data-act=theme]");
  const mode_button = required(root, "[data-act=projector]");
  let theme = null;

  const given = { ...remembered(window), ...fromAddress(window) };
  if (given.theme) html.dataset.theme = given.theme;
  if (given.mode) html.dataset.mode = given.mode;

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
    /** Height left for the curve on a tall page, px. */
    spare: () => Math.max(0, window.innerHeight - 780),
  };
}

function fromAddress(window) {
  const asked = new URLSearchParams(window.location.search);
  return Object.fromEntries(["theme", "mode"].filter((name) => asked.get(name)).map((name) => [name, asked.get(name)]));
}

function remembered(window) {
  try {
    return JSON.parse(window.localStorage.getItem(KEY) ?? "{}");
  } catch {
    return {};
  }
}

function remember(window, html) {
  try {
    window.localStorage.setItem(KEY, JSON.stringify({ theme: html.dataset.theme, mode: html.dataset.mode }));
  } catch (reason) {
    console.info(`The choice lasts as long as the page: ${reason.message}`);
  }
}
