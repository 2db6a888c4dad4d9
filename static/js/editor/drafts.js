/**
 * What the editor starts with: the text of the page's address, a link's text or run, a file, or the newest draft.
 *
 * @typedef {object} Beginning
 * @property {string} start its name, under which its draft is stored
 * @property {string} title
 * @property {string} text as it was before any change
 * @property {string} [note] what the text lacks of what it was made from
 */

import { readOutline, scalarsOf } from "./outline.js";
import { counted } from "../model/format.js";
import { required, saveFile, setText } from "../render/dom.js";
import { LONGEST_LINK, fragmentOf, textOf } from "../wire/text_link.js";

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

/** Largest file that is read, bytes: UTF-8 has at most four bytes for a character. */
const BYTES_PER_CHARACTER = 4;

/**
 * The beginning that the address asks for; otherwise the newest draft or the text that the server sent.
 * @param {{location: Location, storage: Storage | null, sent: Beginning, asked: boolean, fetchStart: (start: string) => Promise<Beginning>}} parts
 * @returns {Promise<Beginning>}
 */
export async function firstBeginning({ location, storage, sent, asked, fetchStart }) {
  const start = `link:${location.hash.slice(-24)}`;
  const run = await textOf(location.hash, "run");
  if (run) return ofRun(JSON.parse(run), start, fetchStart);
  const text = await textOf(location.hash);
  if (text !== null) return { start, title: "Text of a link", text };
  const [newest] = draftsIn(storage);
  if (asked || !newest) return sent;
  return fromServer(newest.start) ? fetchStart(newest.start) : newest;
}

/** Whether the server has the original of a start; files and links are only in the browser. */
export const fromServer = (start) => /^(scenario|minimal|lab)\//.test(start);

async function ofRun(run, start, fetchStart) {
  const text = run.yaml ?? (await fetchStart(`scenario/${run.scenario}`)).text;
  const commands = run.commands?.length ?? 0;
  const note = commands ? `${counted(commands, "command")} given by hand in this run ${commands === 1 ? "is" : "are"} not in the text. Open the run as a lab and choose Edit there to have them.` : "";
  return { start, title: String(run.title ?? "A shared run"), text: withSeed(text, run.seed), note };
}

/** @param {string} text @param {number | undefined} seed @returns {string} the text with this seed at its top level */
export function withSeed(text, seed) {
  if (!Number.isInteger(seed)) return text;
  if (/^seed:/m.test(text)) return text.replace(/^seed:.*$/m, `seed: ${seed}`);
  return seed === 1 ? text : text.replace(/^(until:.*)$/m, `seed: ${seed}\n$1`);
}

/**
 * A file's text. Where another text of a file with this name is kept, it gets a number, so that both are kept.
 * @param {File} file @param {number} most characters @param {Storage | null} storage
 * @returns {Promise<Beginning>}
 * @throws {Error} for a file that is too large
 */
export async function ofFile(file, most, storage) {
  const refused = () => new Error(`${file.name} is too large: the editor takes at most ${most} characters.`);
  if (file.size > most * BYTES_PER_CHARACTER) throw refused();
  const text = (await file.text()).replaceAll("\r\n", "\n");
  if (text.length > most) throw refused();
  for (let number = 1; ; number += 1) {
    const title = number === 1 ? file.name : `${file.name} (${number})`;
    const start = `file:${title}`;
    const kept = draftOf(storage, start);
    if (!kept || kept.text === text) return { start, title, text };
  }
}

/** Opens a file that was chosen, or dropped on the text. Dropped text is left to the editor. */

/** @param {HTMLElement} drop @param {HTMLInputElement} input @param {(file: File) => void} take */
export function listenToFiles(drop, input, take) {
  const hasFile = (event) => [...event.dataTransfer.types].includes("Files");
  const mark = (on) => drop.classList.toggle("dropping", on);

  function dragged(event) {
    if (!hasFile(event)) return;
    event.preventDefault();
    mark(true);
  }

  function dropped(event) {
    mark(false);
    if (!hasFile(event)) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
  }

  input.addEventListener("change", () => {
    if (input.files[0]) take(input.files[0]);
    input.value = ""; // so that the same file can be chosen again
  });
  drop.addEventListener("dragenter", dragged);
  drop.addEventListener("dragover", dragged);
  drop.addEventListener("dragleave", (event) => mark(drop.contains(/** @type {Node} */ (event.relatedTarget))));
  drop.addEventListener("drop", dropped, true);
}

/** Save and Share: the text as a file, and the link to a run of it. */

/** The format of a run's document (`docs/http-api.md`). */
const RUN_FORMAT = 1;

/**
 * @param {object} parts
 * @param {Document} parts.document
 * @param {HTMLElement} parts.root
 * @param {import("../render/dom.js").PageWindow} parts.window
 * @param {(name: string) => HTMLElement} parts.part
 * @param {() => string} parts.getText
 * @param {() => import("./checking.js").Checked | null} parts.getChecked
 */
export function makeSharing({ document, root, window, part, getText, getChecked }) {
  const input = required(root, "input[data-part=link]");

  async function share() {
    const link = await linkOf(getText(), getChecked());
    const words = typeof link === "string" ? "" : link.refused;
    part("link-line").hidden = false;
    part("link-field").hidden = words !== "";
    setText(part("link-words"), words);
    if (typeof link !== "string") return;
    input.value = link;
    input.select();
    try {
      await window.navigator.clipboard.writeText(link);
      setText(part("link-words"), "Copied. The link contains the whole text, which no server sees.");
    } catch {
      setText(part("link-words"), "The browser does not let this page copy: the link is selected, copy it with the keyboard.");
    }
  }

  /** @returns {Promise<string | {refused: string}>} */
  async function linkOf(text, checked) {
    if (checked?.text !== text) return { refused: "The text is being checked. Try again in a moment." };
    if (!checked.scenario) return { refused: "Fix the problems first: a run needs a valid scenario." };
    const { title, seed } = checked.scenario;
    const run = { format: RUN_FORMAT, engine_version: root.dataset.engine, title, yaml: text, seed, commands: [], until_us: 0 };
    const link = window.location.origin + root.dataset.run + (await fragmentOf(JSON.stringify(run), "run"));
    return link.length <= LONGEST_LINK ? link : { refused: "This text is too long for a link: run it and share the lab, or send the file." };
  }

  function save() {
    const text = getText();
    const name = scalarsOf(readOutline(text).root).get("name") ?? "";
    saveFile(document, window, new window.Blob([text], { type: "application/yaml" }), `${/^[\w-]{1,64}$/.test(name) ? name : "scenario"}.yaml`);
  }

  return { share, save };
}
