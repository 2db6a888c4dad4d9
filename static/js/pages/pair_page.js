/**
 * The page of two runs on one clock: each is a lab of the visitor in a frame, made from its document; the server finds the differences.
 * This module connects the parts: frames, clock, differences, figures.
 */

import { capitalised, counted, seconds } from "../model/format.js";
import { required, setText } from "../render/dom.js";
import { makeRequests, RequestError } from "../wire/http.js";
import { textOf } from "../wire/text_link.js";
import { keepToken } from "../wire/token.js";
import { makeDifferences } from "./pair_differences.js";
import { firstFigure, writeFigures } from "./pair_figures.js";
import { makePairClock } from "./pair_clock.js";

const ASK_EVERY_MS = 400;
const LOOK_EVERY_MS = 100;
/** Limits of a frame's height, px, and what it has beyond its content, so that the curve is not at its lowest. */
const [LOWEST_PX, HIGHEST_PX, CURVE_PX] = [300, 900, 40];
const SIDES = ["left", "right"];

/** @param {{document: Document, root: HTMLElement, window: import("../render/dom.js").PageWindow, fetcher: typeof fetch}} parts */
export function openPair({ document, root, window, fetcher }) {
  const requests = makeRequests(fetcher, "");
  const status = required(root, "[data-part=status]");
  const pause = (ms) => new Promise((resolve) => window.setTimeout(resolve, ms));
  open().catch(failed);

  async function open() {
    const ask = await asking({ root, window, requests });
    const asked = await ask();
    for (const side of SIDES) setText(required(root, `[data-part=${side}-name]`), capitalised(asked[side].name));
    const [labs, answer] = await Promise.all([Promise.all(SIDES.map((side) => openLab(side, asked[side].run))), answered(asked, ask)]);
    const clock = makePairClock({ document, root, window, labs, until_us: asked.until_us });
    writeFigures({ document, root }, answer);
    const differences = makeDifferences({ document, root, clock, labs }, answer.differences);
    const marked = SIDES.map((side, at) => labs[at].markOnly(answer.differences.entries[side]));
    required(root, "[data-part=only]").hidden = !marked.includes(true);
    setText(required(root, "[data-part=sentence]"), sentenceOf(answer));
    setText(status, "");
    differences.from(firstFigure(answer)?.at_us ?? 0);
  }

  /** Polls until both have run. @throws {Error} when a run failed */
  async function answered(answer, ask) {
    while (answer.state === "running") {
      setText(status, `Running: ${answer.done} of ${answer.of} done.`);
      await pause(ASK_EVERY_MS);
      answer = await ask();
    }
    if (answer.state === "failed") throw new Error(answer.words);
    return answer;
  }

  /** Makes a lab of the visitor from a run, or takes the one that this tab made before, and opens it in its frame. */
  async function openLab(side, run) {
    const key = `failover-lab.pair.${window.location.pathname}${window.location.search}${window.location.hash}.${side}`;
    const made = read(window, key) ?? (await requests.post(root.dataset.create, { ...run, until_us: Math.max(0, ...run.commands.map((command) => command.at_us)) }));
    keepToken(made.id, made.token, window);
    keep(window, key, made);
    const frame = /** @type {HTMLIFrameElement} */ (required(root, `iframe[data-part=${side}]`));
    frame.src = `${made.url}?embed=1&panel=time`;
    /** @type {HTMLAnchorElement} */ (required(root, `a[data-part=${side}-lab]`)).href = `${made.url}`;
    for (;;) {
      const lab = /** @type {any} */ (frame.contentWindow)?.failoverLab;
      if (isDrawn(frame, lab)) {
        fit(frame);
        return lab;
      }
      await pause(LOOK_EVERY_MS);
    }
  }

  function failed(reason) {
    const failure = required(root, "[data-part=failure]");
    setText(status, "");
    setText(failure, [reason.message, reason.hint].filter(Boolean).join(" "));
    failure.hidden = false;
  }
}

/** The request for the two runs: of a lab, named in the address, or of two set-ups, whose texts its fragment contains. */
async function asking({ root, window, requests }) {
  if (root.dataset.address) return () => requests.get(root.dataset.address + window.location.search);
  const [left, right] = await Promise.all(SIDES.map((side) => textOf(window.location.hash, side)));
  if (left === null || right === null) throw new RequestError("The link does not contain two readable set-ups.", "Open My set-up, keep one there and compare it with another.");
  return () => requests.post(root.dataset.setUps, { left, right });
}

/** Shows the time panel, whose axis both frames share, if the lab has one. @returns {boolean} whether the frame's content is drawn */
function isDrawn({ contentDocument: inside }, lab) {
  const root = inside?.querySelector(".lab.drawn");
  if (!root || !lab?.getState().view) return false;
  const timed = required(root, "#panel-time").hidden === false;
  root.classList.toggle("with-panel", timed);
  return !timed || Boolean(lab.timeAxis());
}

/** Sets a frame's height by what is drawn in it. */
function fit(frame) {
  frame.style.height = `${Math.min(HIGHEST_PX, Math.max(LOWEST_PX, frame.contentDocument.documentElement.scrollHeight + CURVE_PX))}px`;
}

/** The page's first sentence. */
export function sentenceOf(answer) {
  const { differences, rows } = answer;
  if (!differences.first) return `Both runs are the same, in all ${counted(rows[0], "event")}.`;
  const same = `Both runs are the same until ${seconds(differences.first.at_us)} s.`;
  const figure = firstFigure(answer);
  return figure ? `${same} The first figure that differs, at ${seconds(figure.at_us)} s: ${figure.title}, ${figure.values.join(" and ")}.` : same;
}

function read(window, key) {
  try {
    return JSON.parse(window.sessionStorage.getItem(key));
  } catch {
    return null;
  }
}

function keep(window, key, made) {
  try {
    window.sessionStorage.setItem(key, JSON.stringify(made));
  } catch {
    // a private window may refuse storage; a reload then makes new labs
  }
}
