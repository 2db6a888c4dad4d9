/**
 * The script that makes pictures of a lab's diagram. The lab page loads it when the first picture is wanted.
 * It is a script of its own, so it works through what it is given and through elements, not through modules of the page.
 */

import { AnimationError, LAST_MS, checkBytes, checkPixels } from "../model/animation.js";
import { seconds } from "../model/format.js";
import { required, saveFile } from "../render/dom.js";
import { makeGif, makeWebm } from "../render/animation_file.js";
import { layoutOf, paintPage, pngOf, svgOf, withTitle } from "../render/picture_file.js";
import { fontOf, readTheme } from "../render/theme.js";

/**
 * Makes an animation of a lab's diagram: the lab goes to each instant, the page draws it, and the picture becomes a frame.
 * No frame depends on the wall clock: each is drawn when everything that it shows has been received. At the end, also after an error or a cancel,
 * the lab is back at its instant. The owner may watch meanwhile; a command, a seek or playback ends the work with the reason.
 */

/** Time between two looks at whether the lab is there, ms. */
const LOOK_MS = 8;
/** The server has this long for one instant, ms. */
const LIMIT_MS = 60_000;
/** A state that is still a sample after this time stays one, ms. */
const SAMPLED_MS = 1000;
/** Height of the line below the diagram, CSS px. */
const CAPTION_PX = 30;
/** Around the diagram, CSS px. */
const MARGIN_PX = 16;

/** The work was cancelled. */
class Cancelled extends Error {}

/** The owner did something else with the lab. */
class Interrupted extends AnimationError {}

/**
 * @typedef {object} FrameFile what frames are added to
 * @property {(frame: ImageData, ms: number) => void | Promise<void>} add
 * @property {() => number} size bytes so far
 * @property {() => Promise<Blob>} finish
 * @property {() => void} close releases what an unfinished file holds
 */

/**
 * @param {any} page document, window, root, section, getState, getWatched, link, requests, drawNow, now
 * @param {import("../model/animation.js").Plan} plan
 * @param {(width: number, height: number) => Promise<FrameFile>} makeFile
 * @param {{signal: AbortSignal, onFrame: (done: number) => void}} on
 * @returns {Promise<Blob>}
 */
export async function makeAnimation(page, plan, makeFile, { signal, onFrame }) {
  const lab = makeTraveller(page, signal);
  const back_us = page.getState().at_us;
  let file = null;
  try {
    await lab.stop();
    await lab.goTo(plan.instants.at(-1)); // the whole range is run first, so that no frame depends on how far the run was
    await lab.drawn(1);
    const camera = makeCamera(page, plan);
    file = await makeFile(camera.width, camera.height);
    for (const [at, at_us] of plan.instants.entries()) {
      await lab.goTo(at_us);
      await lab.drawn(camera.ratio);
      await file.add(camera.take(at_us), at === plan.instants.length - 1 ? LAST_MS : plan.frame_ms);
      checkBytes(file.size());
      onFrame(at + 1);
    }
    return await file.finish();
  } catch (reason) {
    if (reason instanceof Interrupted) lab.leave();
    throw reason;
  } finally {
    file?.close();
    lab.goBack(back_us);
  }
}

/** Takes the lab to instants. */
function makeTraveller({ window, getState, link, requests, drawNow, now }, signal) {
  const { branch } = getState().view;
  let left = false;

  /** Looks until it is so. @param {() => boolean} isSo @param {string} words what did not happen */
  async function until(isSo, words) {
    for (const begun_ms = now(); !isSo(); ) {
      if (signal.aborted) throw new Cancelled();
      if (now() - begun_ms > LIMIT_MS) throw new AnimationError(`${words} within ${LIMIT_MS / 1000} s.`);
      await new Promise((resolve) => window.setTimeout(resolve, LOOK_MS));
    }
    if (signal.aborted) throw new Cancelled();
  }

  return {
    async stop() {
      if (!getState().playing) return;
      link.pause();
      await until(() => !getState().playing, "The lab was not paused");
    },
    async goTo(at_us) {
      const { epoch } = getState();
      if (!link.seek(at_us)) throw new AnimationError("The lab cannot be moved to other instants now.");
      await until(() => getState().epoch !== epoch, "The lab did not reach the next instant");
      const { at_us: there_us, playing, view } = getState();
      if (there_us !== at_us || playing || view.branch !== branch) throw new Interrupted("The lab was played, moved or given a command meanwhile.");
    },
    /** The lab stays where its owner took it. */
    leave: () => (left = true),
    goBack: (at_us) => left || link.seek(at_us),
    /** Draws until nothing is on its way to the page that would change the picture. Of a large lab a first frame may contain a sample; more follows. */
    drawn(ratio) {
      const begun_ms = now();
      const isWhole = () => !getState().sampled || now() - begun_ms > SAMPLED_MS;
      return until(() => !drawNow(ratio) && requests.open() === 0 && isWhole(), "The page did not receive what it shows");
    },
  };
}

/** Takes the pictures, all with the size and place of the diagram at the end of the range. */
function makeCamera({ document, window, root, section, getState }, plan) {
  const laid = layoutOf(document, window, section);
  if (!laid) throw new AnimationError("Nothing is drawn yet.");
  const scale = plan.width / (laid.width + 2 * MARGIN_PX);
  const height = 2 * Math.ceil(((laid.height + CAPTION_PX + 2 * MARGIN_PX) * scale) / 2); // video wants even sizes
  checkPixels(plan, height);
  const anchor = laid.canvases[0].box;
  const from_anchor = { x: laid.left - anchor.left, y: laid.top - anchor.top };
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: plan.width, height });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const theme = readTheme(window.getComputedStyle(root));
  const { title } = getState().welcome;

  function caption(at_us) {
    context.font = fontOf(theme, 13, 600);
    context.textBaseline = "middle";
    context.textAlign = "left";
    context.fillStyle = theme.ink.ink;
    context.fillText(`${seconds(at_us)} s`, 0, laid.height + CAPTION_PX / 2);
    context.font = fontOf(theme, 13);
    context.textAlign = "right";
    context.fillStyle = theme.ink.ink2;
    context.fillText(title, laid.width, laid.height + CAPTION_PX / 2);
  }

  return {
    width: plan.width,
    height,
    ratio: scale,
    /** @returns {ImageData} */
    take(at_us) {
      const layout = layoutOf(document, window, section);
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.fillStyle = theme.ink.bg;
      context.fillRect(0, 0, canvas.width, canvas.height);
      context.scale(scale, scale);
      context.translate(MARGIN_PX, MARGIN_PX);
      caption(at_us);
      const { left, top } = layout.canvases[0].box;
      context.translate(-left - from_anchor.x, -top - from_anchor.y);
      paintPage(context, layout);
      return context.getImageData(0, 0, canvas.width, canvas.height);
    },
  };
}

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

  /** @param {(layout: import("../render/picture_file.js").PictureLayout) => Blob | Promise<Blob>} make */
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
