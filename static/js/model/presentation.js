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

import { counted } from "./format.js";

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
