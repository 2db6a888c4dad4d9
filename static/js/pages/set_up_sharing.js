/** Sharing a set-up: copies its YAML or a link to it, downloads it, or opens it as an experiment or in the scenario editor. */

import { fragmentOf, LONGEST_LINK } from "../wire/text_link.js";
import { required, setText } from "../render/dom.js";
import { saveFile } from "../render/save_file.js";

/** Where the tab keeps the set-up that others are compared with. */
const KEPT = "failover-lab.set-up.kept";

/**
 * @param {object} parts
 * @param {Document} parts.document
 * @param {HTMLElement} parts.root
 * @param {import("../render/dom.js").PageWindow} parts.window
 * @param {() => string} parts.getYaml of the present set-up
 * @param {() => boolean} parts.isForm true when the set-up is the form's, whose values are in the page's address; false for a text
 */
export function makeSharing({ document, root, window, getYaml, isForm }) {
  const done = required(root, "[data-part=done]");

  async function copy(text, words) {
    try {
      await window.navigator.clipboard.writeText(text);
      setText(done, words);
    } catch {
      setText(done, "The browser does not let this page copy; select the text instead.");
    }
  }

  return {
    /** Keeps this set-up, so that another one can be compared with it, also after a reload of the page. */
    keep() {
      window.sessionStorage.setItem(KEPT, getYaml());
      required(root, "button[data-act=beside]").disabled = false;
      setText(done, "Kept. Change the set-up, then compare it with the kept one.");
    },
    /** Opens the kept set-up and this one beside each other, on one clock. */
    async beside() {
      const kept = window.sessionStorage.getItem(KEPT) ?? getYaml();
      window.location.assign(`${root.dataset.beside}${await fragmentOf(kept, "left")}&${(await fragmentOf(getYaml(), "right")).slice(1)}`);
    },
    /** @returns {Promise<string>} the path of this page with this set-up */
    address: async () => window.location.pathname + (isForm() ? window.location.search : await fragmentOf(getYaml())),
    hasKept: () => window.sessionStorage.getItem(KEPT) !== null,
    /** Opens the page of experiments with this set-up. */
    async experiment() {
      window.location.assign(root.dataset.experiments + (isForm() ? window.location.search : await fragmentOf(getYaml())));
    },
    /** Opens the scenario editor with this set-up's text. */
    async edit() {
      window.location.assign(root.dataset.editor + (await fragmentOf(getYaml())));
    },
    copyYaml: () => copy(getYaml(), "The YAML is copied."),
    async copyLink() {
      const page = window.location.origin + window.location.pathname;
      if (isForm()) return copy(page + window.location.search, "The link is copied: it contains every value of the form.");
      const link = page + (await fragmentOf(getYaml()));
      if (link.length > LONGEST_LINK) setText(done, "This text is too long for a link: open it as a lab and share that, or send the file.");
      else await copy(link, "The link is copied: it contains the whole text, which is never sent to a server.");
    },
    download() {
      saveFile(document, window, new window.Blob([getYaml()], { type: "application/yaml" }), "my-set-up.yaml");
      setText(done, "my-set-up.yaml is in your downloads.");
    },
  };
}
