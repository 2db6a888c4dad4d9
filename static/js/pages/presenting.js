/** Begins and ends a presentation, and shows its room code, large enough for the back row. */

import { searchOf, sharedOrigin } from "../model/addresses.js";
import { counted } from "../model/format.js";
import { showLocalOnly } from "./share.js";
import { required, setText } from "../render/dom.js";
import { keepToken, makePageName } from "../wire/token.js";

/**
 * A lab that is presented to a class: the page's role, what the presenter's page shows, and the words of the bar. Pure.
 *
 * @typedef {object} Shown what the presenter's page shows and no frame contains
 * @property {string} [panel]
 * @property {Object<string, string>} [choices] topic, subscription, target, group
 * @property {{seq: number} | {marker: number} | {message: [string, number]} | null} [lit] whose causes and effects are highlighted
 * @property {object | null} [item] what the inspector shows
 * @property {string | null} [mark] the item of the legend that is chosen
 * @property {{step: number, asks: boolean, reveals?: number | null, whole?: boolean} | null} [tour] step from 1; asks: whether its question is open; reveals: the step whose predictions are shown; whole: whether the page shows parts that the step does not
 */
/**
 * @typedef {object} Presentation the server's message
 * @property {string | null} code null: the lab is not presented
 * @property {string} [ends_at]
 * @property {string | null} [by] name of the page that presents, null before it has sent anything
 * @property {boolean} [here] whether that page is connected
 * @property {number} [followers]
 * @property {Shown | null} [shown]
 * @property {ClassPredictions | null} [predictions] null before the first question
 */
/**
 * @typedef {object} ClassPredictions what followers predicted at the step that was asked last
 * @property {number} step from 1
 * @property {number} answers how many followers have predicted
 * @property {[string, number][] | null} counts predictions and how often each was given; null until the presenter reveals them
 * @property {number} others predictions that `counts` leaves out
 */

/** Most fields of an inspected thing, as the server takes it. */
const ITEM_FIELDS = 8;

/** A room code in two groups of letters. @param {string} code */
export const spokenCode = (code) => `${code.slice(0, code.length / 2)} ${code.slice(code.length / 2)}`;

/**
 * @param {Presentation} presentation
 * @param {{owner: boolean, name: string | null, claims: boolean}} page name: under which this page presents, null when it does not; claims: it has just begun to
 * @returns {"none" | "presenter" | "elsewhere" | "follower"} elsewhere: an owner's page that does not present
 */
export function roleOf({ code, by }, { owner, name, claims }) {
  if (code === null) return "none";
  if (!owner) return "follower";
  return name !== null && (claims || by === name || by === null) ? "presenter" : "elsewhere";
}

/** The sentence of the bar. @param {ReturnType<typeof roleOf>} role @param {Presentation} presentation */
export function barWords(role, { code, here, by, followers }) {
  const room = `room ${spokenCode(code)}`;
  if (role === "presenter") return `Presenting in ${room}: ${followers ? counted(followers, "follower") : "no followers yet"}.`;
  if (!here) return `The presenter is not connected. The lab stays as it was left.`;
  if (role === "elsewhere") return by === null ? `This lab is presented in ${room}.` : `This lab is presented in ${room} from another page of its owner.`;
  return `You follow the presenter in ${room}.`;
}

/** An inspected thing, if it is plain enough to be sent: a few texts, numbers and nulls. @param {object | null} thing */
export function plainItem(thing) {
  if (!thing) return null;
  const values = Object.values(thing);
  const plain = values.every((value) => value === null || typeof value === "string" || (Number.isInteger(value) && value >= 0));
  return plain && values.length <= ITEM_FIELDS ? thing : null;
}

/** The fields of `shown` that differ from those applied before. @param {Shown} shown @param {Shown} before @returns {(keyof Shown)[]} */
export function changedFields(shown, before) {
  const names = /** @type {(keyof Shown)[]} */ (["choices", "panel", "mark", "tour", "item", "lit"]);
  return names.filter((name) => JSON.stringify(shown[name] ?? null) !== JSON.stringify(before[name] ?? null));
}

/** The id of the presented lab that a copy was taken from, in the address of the copy. @param {string} search @returns {string | null} */
export function presentedLab(search) {
  const id = new URLSearchParams(search).get("presented");
  return id !== null && /^[a-z0-9]{1,40}$/.test(id) ? id : null;
}

/**
 * @param {PresentingParts} parts
 * @param {{begun: () => void, getPresentation: () => Presentation}} on begun: this page becomes the presenter's
 */
export function makeRoom({ root, window, requests, base, token, say }, { begun, getPresentation }) {
  const share = required(root, "dialog[data-part=share-dialog]");
  const begin = required(share, "button[data-act=present]");
  const code = makeCodeDialog(root, window, end);
  begin.addEventListener("click", () => (getPresentation().code === null ? present() : show()));

  async function present() {
    begin.disabled = true;
    try {
      const opened = await requests.post(`${base}present/`, { token });
      begun();
      code.write({ code: opened.code, ends_at: opened.ends_at, followers: 0 });
      show();
    } catch (reason) {
      share.close();
      say({ error: reason.message, hint: reason.hint });
    }
    begin.disabled = false;
  }

  function show() {
    share.close();
    code.open();
  }

  async function end() {
    code.close();
    try {
      await requests.post(`${base}present/end/`, { token });
    } catch (reason) {
      say({ error: reason.message, hint: reason.hint });
    }
  }

  return {
    show,
    end,
    /** @param {Presentation} presentation */
    update(presentation) {
      setText(begin, presentation.code === null ? "Present to a class" : "Show the room code");
      if (presentation.code === null) code.close();
      else code.write(presentation);
    },
  };
}

/** The dialog with the room code, its link, and the number of followers. */
function makeCodeDialog(root, window, end) {
  const dialog = required(root, "dialog[data-part=present-dialog]");
  const part = (name) => required(dialog, `[data-part=${name}]`);
  const address = required(dialog, "input[data-part=room-link]");
  const close = () => dialog.open && dialog.close();
  const acts = { "present-close": close, "present-stop": end, "room-copy": copy };
  for (const [act, run] of Object.entries(acts)) required(dialog, `[data-act=${act}]`).addEventListener("click", run);
  const { origin, local_only } = sharedOrigin(window.location, root.dataset.sharedAddress);
  const qr = required(dialog, "img[data-part=room-qr]");
  setText(part("room-site"), `${origin.replace(/^https?:\/\//, "")}${root.dataset.join}`);
  showLocalOnly(dialog, local_only);

  async function copy() {
    address.select();
    try {
      await window.navigator.clipboard.writeText(address.value);
      setText(part("room-done"), "The link is copied.");
    } catch {
      setText(part("room-done"), "The browser does not let this page copy: the link is selected, copy it with the keyboard.");
    }
  }

  return {
    close,
    open() {
      setText(part("room-done"), "");
      if (!dialog.open) dialog.showModal();
      required(dialog, "[data-act=present-close]").focus();
    },
    /** @param {Presentation} presentation */
    write({ code, ends_at, followers }) {
      setText(part("room-code"), spokenCode(code));
      address.value = `${origin}${root.dataset.join}${code}/`;
      const picture = `${root.dataset.join}${code}/qr.svg?origin=${encodeURIComponent(origin)}`;
      if (qr.getAttribute("src") !== picture) qr.src = picture;
      const until = new Date(ends_at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
      setText(part("room-facts"), `${followers ? counted(followers, "follower") : "No followers yet"}. Open until ${until}.`);
    },
  };
}

/**
 * Presents the lab to a class, or follows its presenter. Every page of the lab shows the same frames; what no frame contains (panel, highlights,
 * inspected thing, tour step) is sent by the presenter's page when it changes, and applied by the others.
 * A follower explores in a copy of the lab, so that nothing there affects the others, and returns by a link.
 */

const NOBODY = { code: null };

/**
 * @typedef {object} PresentingParts parts of the page (see lab_page.js), and
 * @property {HTMLElement} root
 * @property {import("../render/dom.js").PageWindow} window
 * @property {(message: object) => boolean} send sends a message to the server; false while the connection is lost
 * @property {ReturnType<import("../wire/http.js").makeRequests>} requests
 * @property {string} base path of the lab, ending in "/"
 * @property {string | null} token
 * @property {() => import("../model/state.js").LabState} getState
 * @property {() => {panel: string, selection: object}} getView
 * @property {(notice: object) => void} say
 * @property {() => void} wake requests one more drawing
 * @property {() => Shown} shownNow what this page shows
 * @property {Object<string, (value: any) => void>} apply shows a field of what the presenter shows, by its name
 * @property {() => void} onRoom called when the bar appeared or disappeared, because heights have changed
 * @property {(presentation: Presentation, role: string) => void} onClass takes what the class predicts
 * @property {() => void} resend sends the predictions of this page again, which a server that was restarted does not have
 */
/**
 * @typedef {object} Held what the page holds of the presentation
 * @property {PresentingParts} parts
 * @property {HTMLElement} bar
 * @property {ReturnType<typeof makePageName>} names
 * @property {ReturnType<typeof makeRoom> | null} room
 * @property {Presentation} presentation
 * @property {ReturnType<typeof roleOf>} role
 * @property {boolean} claims this page presents, but the server has not confirmed it
 * @property {string} sent what was sent last, as JSON
 * @property {Shown} applied what was applied last
 */

/** @param {PresentingParts} parts */
export function makePresenting(parts) {
  const { root, window } = parts;
  const bar = required(root, "[data-part=present-bar]");
  /** @type {Held} */
  const held = { parts, bar, names: makePageName(window, `failover-lab.presents.${root.dataset.labId}`), room: null, presentation: NOBODY, role: "none", claims: false, sent: "", applied: {} };
  held.room = makeRoom(parts, { begun: () => become(held), getPresentation: () => held.presentation });
  const acts = { explore: () => explore(parts), "present-here": () => become(held), "show-code": held.room.show, "present-end": held.room.end };
  for (const [act, run] of Object.entries(acts)) required(bar, `[data-act=${act}]`).addEventListener("click", run);
  const returns_to = presentedLab(window.location.search);
  if (returns_to !== null) offerReturn(bar, returns_to);

  return {
    /** Handles a message of the server. */
    receive(message) {
      if (message.type === "presentation") {
        held.presentation = message;
        decide(held);
      }
      if (message.type === "welcome") held.sent = ""; // the server may not have what was sent on the former connection
      if (message.type === "welcome") parts.resend();
    },
    /** Sends what this page shows, if it presents and something has changed. Costs nothing otherwise. */
    update() {
      if (held.role !== "presenter") return;
      const shown = parts.shownNow();
      const sent = { ...shown, item: plainItem(shown.item ?? null) };
      const text = JSON.stringify(sent);
      if (text !== held.sent && parts.send({ type: "present", by: held.names.own(), shown: sent })) held.sent = text;
    },
  };
}

/** This page becomes the presenter's: the next drawing sends what it shows. @param {Held} held */
function become(held) {
  held.names.keep();
  Object.assign(held, { claims: true, sent: "" });
  decide(held);
  held.parts.wake();
}

/** Decides whether this page presents or follows, after a message or a choice. @param {Held} held */
function decide(held) {
  const { presentation, names, parts } = held;
  if (presentation.by === names.own() || presentation.code === null) held.claims = false;
  if (presentation.by && presentation.by !== names.own() && !held.claims) names.drop(); // another page has taken over
  const before = held.role;
  held.role = roleOf(presentation, { owner: parts.getState().welcome?.owner === true, name: names.own(), claims: held.claims });
  if (held.role === "none" && before !== "none") parts.say({ error: "The presentation has ended.", hint: before === "follower" ? "You are still watching the lab." : "", tone: "plain" });
  held.room.update(presentation);
  write(held);
  parts.root.classList.toggle("following-class", held.role === "follower");
  follow(held, held.role === "follower" || held.role === "elsewhere" ? presentation.shown : null);
  parts.onClass(presentation, held.role);
  parts.wake();
}

/** @param {Held} held */
function write({ bar, role, presentation, parts }) {
  if (bar.dataset.role === "explorer") return;
  const was_hidden = bar.hidden;
  bar.hidden = role === "none";
  bar.dataset.role = role;
  bar.classList.toggle("away", role !== "presenter" && presentation.here === false);
  if (role !== "none") setText(required(bar, "[data-part=present-words]"), barWords(role, presentation));
  if (was_hidden !== bar.hidden) parts.onRoom();
}

/** Shows what the presenter shows; null ends a tour that was followed. @param {Held} held @param {Shown | null | undefined} shown */
function follow(held, shown) {
  const before = held.applied;
  held.applied = shown ?? {};
  if (!shown && before.tour) held.parts.apply.tour(null);
  if (shown) for (const name of changedFields(shown, before)) held.parts.apply[name](shown[name] ?? null);
}

/** The bar of a follower's own copy: a link back to the presented lab. */
function offerReturn(bar, lab_id) {
  bar.hidden = false;
  bar.dataset.role = "explorer";
  setText(required(bar, "[data-part=present-words]"), "You explore on your own, in a copy of the presented lab. Nothing here affects the others.");
  /** @type {HTMLAnchorElement} */ (required(bar, "a[data-part=present-return]")).href = `/labs/${lab_id}/`;
}

/** Takes a copy at the instant shown, and goes there; its address names the presented lab. @param {PresentingParts} parts */
async function explore({ root, window, requests, base, getState, getView, say }) {
  try {
    const made = await requests.post(`${base}copy/`, { at_us: getState().at_us });
    keepToken(made.id, made.token, window);
    window.location.assign(`${made.url}${searchOf(getView())}&presented=${root.dataset.labId}#token=${made.token}`);
  } catch (reason) {
    say({ error: reason.message, hint: reason.hint });
  }
}
