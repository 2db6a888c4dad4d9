/** The colours and sizes of the stylesheet as the canvas needs them, read once per change of theme. */

/** Origins that have a hue of their own; a further cluster starts over, told apart by its name. */
export const ORIGINS = 4;

/**
 * @typedef {object} Theme
 * @property {string[]} origin full strength, by cluster number
 * @property {string[]} done receded
 * @property {Object<string, string>} ink bg, sunk, raise, line, strong, ink, ink2, ink3, proto, soft, wash, harm, harmSoft, harmWash
 * @property {string} sans
 * @property {number} scale 1, or more on a projector
 * @property {number} label smallest label, px
 * @property {number} rail px
 * @property {number} thread px
 */

const TOKENS = {
  bg: "--bg",
  sunk: "--bg-sunk",
  raise: "--bg-raise",
  line: "--line",
  strong: "--line-strong",
  ink: "--ink",
  ink2: "--ink-2",
  ink3: "--ink-3",
  proto: "--proto",
  soft: "--proto-soft",
  wash: "--proto-wash",
  harm: "--harm",
  harmSoft: "--harm-soft",
  harmWash: "--harm-wash",
};

/** @param {CSSStyleDeclaration} style of the root element @returns {Theme} */
export function readTheme(style) {
  const value = (name) => style.getPropertyValue(name).trim();
  const ink = Object.fromEntries(Object.entries(TOKENS).map(([name, token]) => [name, value(token)]));
  const origin = Array.from({ length: ORIGINS }, (_, at) => value(`--origin-${at}`));
  const keep = Number.parseFloat(value("--recede")) / 100;
  return {
    origin,
    done: origin.map((colour) => mixed(colour, ink.bg, keep)),
    ink,
    sans: value("--sans"),
    scale: Number.parseFloat(value("--scale")) || 1,
    label: Number.parseFloat(value("--t-0")),
    rail: Number.parseFloat(value("--rail")),
    thread: Number.parseFloat(value("--thread")),
  };
}

/**
 * @param {string} colour "#rrggbb"
 * @param {string} ground "#rrggbb"
 * @param {number} keep share of `colour`
 * @returns {string} the mixture, "#rrggbb"
 */
function mixed(colour, ground, keep) {
  const channel = (text, at) => Number.parseInt(text.slice(1 + 2 * at, 3 + 2 * at), 16);
  const parts = [0, 1, 2].map((at) => Math.round(channel(colour, at) * keep + channel(ground, at) * (1 - keep)));
  return `#${parts.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

/** @returns {string} a canvas font */
export const fontOf = (theme, size = theme.label, weight = 400) => `${weight} ${size}px ${theme.sans}`;
