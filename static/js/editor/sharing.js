/** Save and Share: the text as a file, and the link to a run of it. */

import { required, setText } from "../render/dom.js";
import { saveFile } from "../render/save_file.js";
import { fragmentOf, LONGEST_LINK } from "../wire/text_link.js";
import { readOutline, scalarsOf } from "./outline.js";

/** The format of a run's document (`docs/websocket.md`). */
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
