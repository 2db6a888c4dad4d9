/** Reads the colours and sizes of the stylesheet for canvases, once per change of theme. */

/** Number of origins with their own hue. Further clusters reuse hues and are distinguished by name. */
export const ORIGINS = 4;

/**
 * @typedef {object} Theme
 * @property {string[]} origin full colours, by cluster number
 * @property {string[]} done paler colours, for acked messages
 * @property {Object<string, string>} ink bg, sunk, raise, line, strong, ink, ink2, ink3, proto, soft, wash, harm, harmSoft, harmWash
 * @property {string} sans
 * @property {number} scale 1, or larger on a projector
 * @property {number} label smallest label, px
 * @property {number} rail px
 * @property {number} thread px
 */

/** Hues by the colour words in cluster names: a cluster named green must not be drawn amber. The report's `charts.py` has the same table. */
const NAMED_HUES = { blue: 0, amber: 1, orange: 1, green: 2, teal: 2, olive: 3, yellow: 3 };

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

/**
 * The hue of each cluster: its index among the sorted names, unless a name contains a colour, which then decides.
 * @param {string[]} names of all clusters, sorted
 * @returns {number[]} the index of a hue for each cluster number below `ORIGINS`; further clusters reuse them
 */
export function huesOf(names) {
  const wanted = Array.from({ length: ORIGINS }, (_, number) => hueIn(names[number] ?? ""));
  const claimed = wanted.map((hue, number) => (wanted.indexOf(hue) === number ? hue : undefined));
  const free = wanted.map((_, hue) => hue).filter((hue) => !claimed.includes(hue));
  return claimed.map((hue, number) => hue ?? free.splice(Math.max(0, free.indexOf(number)), 1)[0]);
}

const hueIn = (name) => name.toLowerCase().split(/[^a-z]+/).map((word) => NAMED_HUES[word]).find((hue) => hue !== undefined);

/** @param {Theme} theme @param {string[]} names of the clusters, sorted @returns {Theme} with hues by cluster number, as in `huesOf` */
export function themeFor(theme, names) {
  const hues = huesOf(names);
  if (hues.every((hue, number) => hue === number)) return theme;
  return { ...theme, origin: hues.map((hue) => theme.origin[hue]), done: hues.map((hue) => theme.done[hue]) };
}
