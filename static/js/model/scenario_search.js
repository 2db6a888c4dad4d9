/** Searches scenarios: every typed word must occur in the name, title, family or texts. */

import { capitalised } from "./format.js";

const TEXTS = ["name", "title", "family", "watch", "about"];

/** @returns {boolean} */
export function matches(scenario, typed) {
  const text = TEXTS.map((field) => scenario[field] ?? "").join(" ").toLowerCase();
  return typed.toLowerCase().split(/\s+/).filter(Boolean).every((word) => text.includes(word));
}

/** @returns {string} "Replicated subscriptions" */
export const familyName = (name) => capitalised(name.replace(/-/g, " "));
