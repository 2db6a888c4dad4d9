/**
 * A lab in a frame of another page. Without parameters it shows the lab live, as a viewer's page does. With an instant, a branch, a speed or
 * controls it shows a copy of the reader's own, so that readers affect neither the lab nor each other.
 * Keys that this browser stores are not used in a frame of another site: the page around it could make its reader click.
 */

import { embedOf, needsCopy } from "../model/embed.js";
import { makeRequests } from "../wire/http.js";

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
