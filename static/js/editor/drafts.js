/**
 * Texts that were changed and not saved as a file, stored in the browser by what they were started from.
 * A text is never overwritten by another start: each has its own draft. The oldest are given up beyond the limits.
 *
 * @typedef {{start: string, title: string, text: string}} Draft
 */

const KEY = "failover-lab.editor.drafts";

/** Drafts that a browser keeps, and their characters together: a third of what browsers store for a site. */
export const DRAFTS_KEPT = 20;
export const CHARACTERS_KEPT = 1_500_000;

/** @param {Storage | null} storage @returns {Draft[]} the newest first */
export function draftsIn(storage) {
  try {
    const found = JSON.parse(storage?.getItem(KEY) ?? "[]");
    return Array.isArray(found) ? found.filter((one) => ["start", "title", "text"].every((name) => typeof one?.[name] === "string")) : [];
  } catch {
    return [];
  }
}

/** @param {Storage | null} storage @param {string} start @returns {Draft | null} */
export const draftOf = (storage, start) => draftsIn(storage).find((draft) => draft.start === start) ?? null;

/** Stores a draft as the newest one. @param {Storage | null} storage @param {Draft} draft @returns {boolean} false when the browser does not store it */
export function keepDraft(storage, draft) {
  const kept = [draft];
  let characters = draft.text.length;
  for (const one of draftsIn(storage)) {
    characters += one.text.length;
    if (one.start !== draft.start && kept.length < DRAFTS_KEPT && characters <= CHARACTERS_KEPT) kept.push(one);
  }
  return write(storage, kept);
}

/** @param {Storage | null} storage @param {string} start */
export const dropDraft = (storage, start) => write(storage, draftsIn(storage).filter((draft) => draft.start !== start));

function write(storage, drafts) {
  try {
    storage.setItem(KEY, JSON.stringify(drafts));
    return true;
  } catch (reason) {
    console.info(`The browser does not store the text: ${reason.message}`);
    return false;
  }
}
