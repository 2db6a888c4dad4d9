/** The card of one lab in “My labs”: its picture, its facts, its buttons, and the form that renames it. */

import { ago, factsOfLab } from "../model/lab_words.js";
import { element } from "../render/dom.js";

/**
 * @param {Document} document
 * @param {object} lab as listed by the server
 * @param {() => number} now ms
 * @param {[text: string, act: () => void][]} acts text and action of each button
 */
export function labCard(document, lab, now, acts) {
  const has_picture = lab.picture?.lanes?.length || lab.picture?.group;
  const picture = has_picture ? element(document, "canvas.picture", { "data-picture": lab.id }) : element(document, "span.picture.empty", { text: "not opened yet" });
  const used = element(document, "time", { datetime: lab.used_at, title: new Date(lab.used_at).toLocaleString(), text: `used ${ago(lab.used_at, now())}` });
  const failed = lab.failed ? [element(document, "b.harm-text", { text: " · stopped by an internal error" })] : [];
  return element(document, "li.lab-card", { "data-lab": lab.id }, [
    element(document, "a.look", { href: lab.url, tabindex: -1, "aria-hidden": "true" }, [picture]),
    element(document, "div.words", {}, [
      element(document, "h2", {}, [element(document, "a", { href: lab.url, text: lab.title })]),
      element(document, "p.soft", { text: factsOfLab(lab) }),
      element(document, "p.quiet", {}, [used, `, made ${ago(lab.created_at, now())}`, ...failed]),
      element(document, "p.acts", {}, acts.map(([text, onclick]) => element(document, "button", { type: "button", "aria-label": `${text}: ${lab.title}`, text, onclick }))),
    ]),
  ]);
}

/**
 * Replaces a heading by a form; Escape and “Leave it” restore the heading.
 * @param {Document} document
 * @param {HTMLElement} heading
 * @param {string} title the present title
 * @param {{onBack: () => void, onSave: (title: string) => void}} on
 */
export function renameInPlace(document, heading, title, { onBack, onSave }) {
  const input = element(document, "input", { value: title, maxlength: 200, "aria-label": "Title", autocomplete: "off" });
  const form = element(document, "form.rename", {}, [input, element(document, "button", { type: "submit", text: "Save" }), element(document, "button", { type: "button", text: "Leave it", onclick: () => back() })]);
  const back = () => {
    form.replaceWith(heading);
    onBack();
  };
  form.addEventListener("keydown", (event) => event.key === "Escape" && back());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    onSave(input.value);
  });
  heading.replaceWith(form);
  input.select();
}
