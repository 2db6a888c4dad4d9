/** Searches scenarios: every typed word must occur in the name, title, family or texts. A match outside the title is explained. */

import { capitalised } from "./format.js";

const TEXTS = ["name", "title", "family", "watch", "about"];

/** What a field is called where a match is explained. */
const FIELD_WORDS = { name: "name", family: "family", watch: "what to watch", about: "description" };
/** Characters shown on each side of a match. */
const AROUND = 32;

const wordsOf = (typed) => typed.toLowerCase().split(/\s+/).filter(Boolean);
const textOf = (scenario, field) => (scenario[field] ?? "").replace(/\s+/g, " ");

/** @returns {boolean} */
export function matches(scenario, typed) {
  const text = TEXTS.map((field) => scenario[field] ?? "").join(" ").toLowerCase();
  return wordsOf(typed).every((word) => text.includes(word));
}

/**
 * Why a scenario matches: the place of the first word that its title does not contain.
 * @returns {string} "description: …takes two rounds, so a snapshot…"; empty when the title has every word
 */
export function whyMatched(scenario, typed) {
  const title = textOf(scenario, "title").toLowerCase();
  const word = wordsOf(typed).find((one) => !title.includes(one));
  if (word === undefined) return "";
  const field = Object.keys(FIELD_WORDS).find((one) => textOf(scenario, one).toLowerCase().includes(word));
  return field === undefined ? "" : `${FIELD_WORDS[field]}: ${excerpt(textOf(scenario, field), word)}`;
}

/** The text around a word, cut at spaces. */
function excerpt(text, word) {
  const at = text.toLowerCase().indexOf(word);
  const from = at <= AROUND ? 0 : text.indexOf(" ", at - AROUND) + 1;
  const cut = text.lastIndexOf(" ", at + word.length + AROUND);
  const to = text.length <= at + word.length + AROUND ? text.length : Math.max(cut, at + word.length);
  return `${from > 0 ? "…" : ""}${text.slice(from, to)}${to < text.length ? "…" : ""}`;
}

/** @returns {string} "Replicated subscriptions" */
export const familyName = (name) => capitalised(name.replace(/-/g, " "));
