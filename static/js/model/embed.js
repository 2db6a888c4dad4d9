/**
 * A lab in a frame of another page: what the parameters of its address ask for, and the code that a page's author copies. Pure.
 *
 * @typedef {object} Embed
 * @property {boolean} controls whether the time controls are shown
 * @property {number | null} at_us
 * @property {number | null} branch
 * @property {number | null} speed simulated seconds per second
 * @property {boolean} plays whether it plays at once
 */

const SLOWEST = 0.0001;
const FASTEST = 1000;
/** The latest instant that a lab may be asked for, s. */
const LATEST_S = 1e9;
const HEIGHT_PX = 560;

/** @param {string} search the query of a frame's address @returns {Embed} parameters that are out of bounds are left out */
export function embedOf(search) {
  const given = new URLSearchParams(search);
  const at_s = numberIn(given.get("at"), 0, LATEST_S);
  const branch = numberIn(given.get("branch"), 0, 1e6);
  return {
    controls: isOn(given.get("controls")),
    at_us: at_s === null ? null : Math.round(at_s * 1e6),
    branch: branch !== null && Number.isInteger(branch) ? branch : null,
    speed: numberIn(given.get("speed"), SLOWEST, FASTEST),
    plays: isOn(given.get("play")),
  };
}

const isOn = (text) => text !== null && text !== "" && text !== "0";

function numberIn(text, lowest, highest) {
  if (text === null || !/^\d{1,10}(\.\d{1,6})?$/.test(text)) return null;
  const number = Number(text);
  return number >= lowest && number <= highest ? number : null;
}

/** Whether the frame shows a copy of the lab: the lab's own instant is the same for everybody. @param {Embed} embed */
export const needsCopy = ({ controls, at_us, branch, speed, plays }) => controls || plays || at_us !== null || branch !== null || speed !== null;

/**
 * The code that shows the lab in a page.
 * @param {string} address of the lab
 * @param {{title: string, search: string, at_us: number, branch: number, speed: number}} now search: panel and choices, "?panel=…"
 * @param {{instant: boolean, panel: boolean, controls: boolean, theme: string}} wanted theme: "" for the reader's own
 */
export function embedCode(address, { title, search, at_us, branch, speed }, { instant, panel, controls, theme }) {
  const query = new URLSearchParams(search);
  if (!panel) query.delete("panel");
  const more = {
    embed: "1",
    ...(instant ? { at: String(at_us / 1e6), ...(branch ? { branch: String(branch) } : {}) } : {}),
    ...(controls ? { controls: "1", ...(speed === 1 ? {} : { speed: String(speed) }) } : {}),
    ...(theme ? { theme } : {}),
  };
  for (const [name, value] of Object.entries(more)) query.set(name, value);
  const attribute = (text) => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
  return `<iframe src="${attribute(`${address}?${query}`)}" title="${attribute(title)}" width="100%" height="${HEIGHT_PX}" loading="lazy"></iframe>`;
}
