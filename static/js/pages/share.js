/** Sharing a lab: the dialog with its links, pictures and embed code, and a lab in a frame of another page. */

import { RATES, SPEEDS, WIDTHS_PX, planOf, planWords } from "../model/animation.js";
import { bytes, seconds } from "../model/format.js";
import { LOCAL_ONLY, searchOf, sharedOrigin } from "../model/addresses.js";
import { allOf, element, required, setText } from "../render/dom.js";
import { speedText } from "../transport/clock.js";
import { makeRequests } from "../wire/http.js";
import { LONGEST_LINK, fragmentOf } from "../wire/text_link.js";
import { keepToken } from "../wire/token.js";

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

/** @param {HTMLElement} dialog @param {{link: string, getState: () => import("../model/state.js").LabState, getView: () => {panel: string, selection: object}}} parts link: the address of the lab */
export function makeEmbedField(dialog, { link, getState, getView }) {
  const field = required(dialog, "input[data-part=embed-code]");
  const choices = required(dialog, "[data-part=embed-choices]");
  const isOn = (name) => required(choices, `input[name=${name}]`).checked;
  choices.addEventListener("change", write);

  function write() {
    const { welcome, view, at_us, speed } = getState();
    if (!view) return;
    const wanted = { instant: isOn("instant"), panel: isOn("panel"), controls: isOn("controls"), theme: required(choices, "select[name=theme]").value };
    field.value = embedCode(link, { title: welcome.title, search: searchOf(getView()), at_us, branch: view.branch, speed }, wanted);
  }

  return { write };
}

/** The pictures in the dialog that shares a lab. The script that makes them is loaded when the first one is wanted. */

/**
 * @param {HTMLElement} root
 * @param {HTMLDialogElement} dialog
 * @param {any} parts of the page: document, window, getState, getWatched, drawNow…
 * @param {(words: string) => void} tell shows what was done, or why not
 */
export function makeSharePictures(root, dialog, parts, tell) {
  let makers = null;

  /** The functions of `pictures.js`. */
  async function load() {
    await import(root.dataset.pictures);
    makers ??= globalThis.failoverLabPictures(root, parts);
    return makers;
  }

  async function save(kind) {
    tell("");
    try {
      tell(await (await load())[kind]());
    } catch (reason) {
      tell(`The picture could not be made: ${reason.message}`);
    }
  }

  for (const kind of ["png", "svg"]) required(dialog, `[data-act=picture-${kind}]`).addEventListener("click", () => save(kind));
  return makeShareAnimation(root, dialog, parts, load);
}

/**
 * The part of the share dialog that makes an animation: a form, and while frames are made a bar with progress and Cancel.
 * The dialog closes meanwhile, so that the page can be used.
 */

/** The range that the form first shows ends at the instant shown and has this length, µs. */
const RANGE_US = 4_000_000;
const RATE = 10;
const WIDTH_PX = 960;

/**
 * @param {HTMLElement} root
 * @param {HTMLDialogElement} dialog
 * @param {any} parts of the page
 * @param {() => Promise<any>} load gives the functions of `pictures.js`
 */
export function makeShareAnimation(root, dialog, parts, load) {
  const { document, window, getState, say } = parts;
  const form = required(dialog, "[data-part=animation]");
  const field = (name) => /** @type {HTMLInputElement} */ (required(form, `[data-part=animation-${name}]`));
  const size = required(form, "[data-part=animation-size]");
  const start = required(form, "button[data-act=animation]");
  const bar = makeBar(root, window);

  fillChoices(document, window, form, field);
  form.addEventListener("input", showSize);
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.target === start) return;
    event.preventDefault(); // it would close the dialog
    make();
  });
  start.addEventListener("click", make);

  const plan = () => planOf({ from: field("from").value, to: field("to").value, speed: Number(field("speed").value), rate: Number(field("rate").value), width: Number(field("width").value) }, endOf(getState()));

  /** @returns {boolean} whether an animation can be made as asked */
  function showSize() {
    try {
      const is_owner = getState().welcome?.owner === true;
      setText(size, is_owner ? planWords(plan()) : "Only the owner can move a lab to other instants. Take a copy to make an animation of it.");
      start.disabled = !is_owner || bar.busy();
    } catch (reason) {
      setText(size, reason.message);
      start.disabled = true;
    }
    return !start.disabled;
  }

  async function make() {
    if (!showSize()) return;
    const [planned, kind] = [plan(), field("kind").value];
    dialog.close();
    const work = bar.begin(planned.instants.length);
    try {
      const file = await (await load()).animation(planned, kind, work);
      say({ error: `The animation is saved: ${planWords(planned)}, ${bytes(file.size)}.`, tone: "plain" });
    } catch (reason) {
      if (!work.signal.aborted) say({ error: `No animation was made. ${reason.message}` });
    } finally {
      bar.end();
    }
  }

  return {
    /** Fills in the range up to the instant shown. */
    open() {
      const { at_us } = getState();
      const from_us = Math.max(0, at_us - RANGE_US);
      field("from").value = seconds(from_us);
      field("to").value = seconds(at_us > 0 ? at_us : Math.min(RANGE_US, endOf(getState())));
      showSize();
    },
  };
}

/** The last instant that an animation may show: the scenario's end, or how far the run is if that is later. */
const endOf = ({ welcome, view }) => Math.max(welcome?.until_us ?? 0, view?.furthest_us ?? 0);

function fillChoices(document, window, form, field) {
  const fill = (name, values, chosen, words) => field(name).replaceChildren(...values.map((value) => element(document, "option", { value, text: words(value), selected: value === chosen })));
  fill("speed", SPEEDS, 1, speedText);
  fill("rate", RATES, RATE, String);
  fill("width", WIDTHS_PX, WIDTH_PX, (width) => `${width} px`);
  if (!("VideoEncoder" in window)) required(form, "option[value=webm]").remove();
}

/** The bar with progress and Cancel. */
function makeBar(root, window) {
  const bar = required(root, "[data-part=making]");
  const words = required(bar, "[data-part=making-words]");
  const progress = required(bar, "progress[data-part=making-progress]");
  let abort = null;
  required(bar, "button[data-act=making-cancel]").addEventListener("click", () => abort?.abort());
  return {
    busy: () => abort !== null,
    /** @param {number} frames @returns {{signal: AbortSignal, onFrame: (done: number) => void}} */
    begin(frames) {
      abort = new window.AbortController();
      bar.hidden = false;
      progress.max = frames;
      const onFrame = (done) => {
        progress.value = done;
        setText(words, `Animation: ${done} of ${frames} frames`);
      };
      onFrame(0);
      return { signal: abort.signal, onFrame };
    },
    end() {
      abort = null;
      bar.hidden = true;
    },
  };
}

/**
 * The dialog that shares a lab: the viewing link, a link that holds the whole run, the owner's link for its owner, files, and a copy.
 * The token is in the fragment of the owner's link, the run in that of its link. Browsers never send a fragment.
 */

const COPIED = {
  "owner-link": "The owner's link is copied. Treat it like a password.",
  "viewer-link": "The viewer's link is copied.",
  "run-link": "The link to the run is copied.",
  "embed-code": "The embed code is copied.",
};

/** @param {HTMLElement} root @param {any} parts `getView` returns what the page shows: {panel, selection} */
export function makeShare(root, parts) {
  const { window, requests, base, token, getState, getView, say } = parts;
  const dialog = required(root, "dialog[data-part=share-dialog]");
  const done = required(dialog, "[data-part=share-done]");
  const field = (name) => required(dialog, `input[data-part=${name}]`);
  const { origin, local_only } = sharedOrigin(window.location, root.dataset.sharedAddress);
  const link = origin + window.location.pathname;
  showLocalOnly(dialog, local_only);
  const embed = makeEmbedField(dialog, { link, getState, getView });
  const run_link = makeRunLink(root, dialog, { origin, requests, base, getView, say: (words) => setText(done, words) });

  required(root, "[data-act=share]").addEventListener("click", open);
  for (const button of root.querySelectorAll("[data-act=take-copy]")) button.addEventListener("click", takeCopy);
  for (const button of allOf(dialog, "[data-copy]")) button.addEventListener("click", () => copy(field(button.dataset.copy)));
  const animation = makeSharePictures(root, dialog, parts, (words) => setText(done, words));

  function open() {
    const owner = getState().welcome?.owner === true;
    field("viewer-link").value = link;
    for (const part of ["owner-part", "present-part"]) required(dialog, `[data-part=${part}]`).hidden = !owner;
    field("owner-link").value = owner ? `${link}#token=${token}` : "";
    setText(done, "");
    animation.open();
    embed.write();
    dialog.showModal();
    run_link.write();
  }

  async function copy(input) {
    input.select();
    try {
      await window.navigator.clipboard.writeText(input.value);
      setText(done, COPIED[input.dataset.part]);
    } catch {
      setText(done, "The browser does not let this page copy: the link is selected, copy it with the keyboard.");
    }
  }

  async function takeCopy() {
    try {
      const made = await requests.post(`${base}copy/`, { at_us: getState().at_us });
      keepToken(made.id, made.token, window);
      window.location.assign(`${made.url}#token=${made.token}`);
    } catch (reason) {
      dialog.close();
      say({ error: reason.message, hint: reason.hint });
    }
  }
}

/** Says in a dialog whether its addresses work on this computer only. @param {HTMLElement} dialog @param {boolean} local_only */
export function showLocalOnly(dialog, local_only) {
  const words = required(dialog, "[data-part=local-only]");
  words.hidden = !local_only;
  setText(words, local_only ? LOCAL_ONLY : "");
}

/** The field with the link to the run at the instant shown. */
function makeRunLink(root, dialog, { origin, requests, base, getView, say }) {
  const input = required(dialog, "input[data-part=run-link]");
  const button = required(dialog, "button[data-copy=run-link]");

  return {
    /** Makes the link. The server computes the digest of the run, which takes a moment in a long run. */
    async write() {
      input.value = input.placeholder = "";
      button.disabled = true;
      try {
        const run = await requests.get(`${base}run.json`);
        const made = origin + root.dataset.run + searchOf(getView()) + (await fragmentOf(JSON.stringify(run), "run"));
        const fits = made.length <= LONGEST_LINK;
        input.value = fits ? made : "";
        input.placeholder = fits ? "" : "Too long for a link: send the file of the run instead.";
        button.disabled = !fits;
      } catch (reason) {
        say(reason.message);
      }
    },
  };
}

/**
 * A lab in a frame of another page. Without parameters it shows the lab live, as a viewer's page does. With an instant, a branch, a speed or
 * controls it shows a copy of the reader's own, so that readers affect neither the lab nor each other.
 * Keys that this browser stores are not used in a frame of another site: the page around it could make its reader click.
 */

const KEY = "failover-lab.embed.";

/**
 * @param {{root: HTMLElement, window: import("../render/dom.js").PageWindow, fetcher: typeof fetch}} parts
 * @returns {Promise<boolean>} false when the frame goes on to the reader's copy, so that nothing is to be opened here
 */
export async function ownCopyFirst({ root, window, fetcher }) {
  const embed = embedOf(window.location.search);
  if (!root.classList.contains("embedded") || !needsCopy(embed) || hasToken(window)) return true;
  const key = `${KEY}${root.dataset.labId}${window.location.search}`;
  const requests = makeRequests(fetcher, "");
  try {
    const made = read(window, key) ?? (await requests.post(`${root.dataset.apiBase}copy/`, embed.at_us === null || embed.branch !== null ? {} : { at_us: embed.at_us }));
    store(window, key, made);
    window.location.replace(`${made.url}${window.location.search}#token=${made.token}`);
    return false;
  } catch (reason) {
    console.info(`The lab is shown live, because no copy could be made: ${reason.message}`);
    return true;
  }
}

const hasToken = (window) => new URLSearchParams(window.location.hash.slice(1)).has("token");

/** Whether the page may use the keys that this browser stores: not in a frame of another site. @param {HTMLElement} root @param {Window} window */
export const usesStoredKeys = (root, window) => !root.classList.contains("embedded") || (isFramedHere(window) && !needsCopy(embedOf(window.location.search)));

/** Whether the page around the frame, if there is one, is of this site. */
function isFramedHere(window) {
  try {
    return window.parent.location.origin === window.location.origin;
  } catch {
    return false; // a browser does not tell the address of another site's page
  }
}

/**
 * Brings the reader's copy to what its address asks for; called once, when the server has confirmed the key.
 * @param {HTMLElement} root
 * @param {Window} window
 * @param {ReturnType<import("../transport/lab_link.js").makeLabLink>} link
 */
export function showAsAsked(root, window, link) {
  const embed = embedOf(window.location.search);
  if (!root.classList.contains("embedded") || !needsCopy(embed) || !hasToken(window)) return;
  if (embed.branch !== null) link.branch(embed.branch);
  if (embed.at_us !== null) link.seek(embed.at_us);
  if (embed.speed !== null) link.speed(embed.speed);
  if (embed.plays) link.play(embed.speed ?? 1);
}

function read(window, key) {
  try {
    return JSON.parse(window.sessionStorage.getItem(key));
  } catch {
    return null;
  }
}

function store(window, key, made) {
  try {
    window.sessionStorage.setItem(key, JSON.stringify(made));
  } catch (reason) {
    console.info(`A reload makes another copy: ${reason.message}`);
  }
}
