/**
 * The script that makes pictures of a lab's diagram. The lab page loads it when the first picture is wanted.
 * It is a script of its own, so it works through what it is given and through elements, not through modules of the page.
 */

import { seconds } from "../model/format.js";
import { required } from "../render/dom.js";
import { makeGif } from "../render/gif_file.js";
import { pngOf } from "../render/picture_file.js";
import { layoutOf, withTitle } from "../render/picture_layout.js";
import { saveFile } from "../render/save_file.js";
import { svgOf } from "../render/svg_file.js";
import { readTheme } from "../render/theme.js";
import { makeWebm } from "../render/webm_file.js";
import { makeAnimation } from "./animation.js";

/**
 * @param {HTMLElement} root
 * @param {any} parts of the page
 * @returns {object} `png` and `svg` save a picture and return what to say; `animation` saves a file and returns it
 */
globalThis.failoverLabPictures = function (root, parts) {
  const { document, window, getState, drawNow } = parts;
  const section = required(root, "section.logs");
  const look = () => readTheme(window.getComputedStyle(root));
  const background = () => look().ink.bg;
  const save = (file, kind) => saveFile(document, window, file, `${getState().welcome.scenario}.${kind}`);

  /** @param {(layout: import("../render/picture_layout.js").PictureLayout) => Blob | Promise<Blob>} make */
  async function picture(kind, make) {
    const layout = layoutOf(document, window, section);
    if (!layout) return "Nothing is drawn yet.";
    const { ink, sans } = look();
    save(await make(withTitle(layout, { ...headingOf(getState()), family: sans, colour: ink.ink, soft: ink.ink2 })), kind);
    return "";
  }

  return {
    png: () => picture("png", (layout) => pngOf(document, layout, background())),
    svg: () => picture("svg", (layout) => new Blob([svgOf(document, layout, { background: background(), ...wordsOf(getState()) }, drawNow)], { type: "image/svg+xml" })),
    /** @param {import("../model/animation.js").Plan} plan @param {any} on signal, onFrame */
    async animation(plan, kind, on) {
      const gifenc = kind === "gif" ? await import(root.dataset.gifenc) : null;
      const makeFile = async (width, height) => (gifenc ? gifFile(makeGif(gifenc, width, height)) : await makeWebm(window, width, height));
      const file = await makeAnimation({ ...parts, root, section }, plan, makeFile, on);
      save(file, kind);
      return file;
    },
  };
};

const gifFile = (gif) => ({
  add: (frame, ms) => gif.add(frame.data, ms),
  size: gif.size,
  finish: async () => new Blob([gif.finish()], { type: "image/gif" }),
  close: () => {},
});

/** What is written over a saved picture. */
const headingOf = ({ welcome, view, at_us }) => ({ title: welcome.title, line: `${seconds(at_us)} s · seed ${welcome.seed}${view.branch ? ` · branch ${view.branch}` : ""} · Failover Lab` });

/** What a picture of this state shows. */
function wordsOf({ welcome, view, at_us }) {
  const branch = view.branch ? `, branch ${view.branch}` : "";
  return {
    title: `${welcome.title}, seed ${welcome.seed}, at ${seconds(at_us)} s`,
    words: `Failover Lab, engine version ${welcome.engine_version}. Scenario ${welcome.scenario}, seed ${welcome.seed}${branch}, simulated instant ${seconds(at_us, 6)} s.`,
  };
}
