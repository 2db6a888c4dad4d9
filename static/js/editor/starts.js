/**
 * What the editor starts with: the text of the page's address, a link's text or run, a file, or the newest draft.
 *
 * @typedef {object} Beginning
 * @property {string} start its name, under which its draft is stored
 * @property {string} title
 * @property {string} text as it was before any change
 * @property {string} [note] what the text lacks of what it was made from
 */

import { counted } from "../model/format.js";
import { textOf } from "../wire/text_link.js";
import { draftOf, draftsIn } from "./drafts.js";

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
