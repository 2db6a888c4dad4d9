/** One's labs: a list with small true pictures, newest use first; rename in place, links, a copy, delete after a word. */

import { makeRequests } from "../wire/http.js";
import { forgetToken, keepToken, ownLabs } from "../wire/token.js";
import { ago, factsOfLab, lossOf } from "../model/lab_words.js";
import { counted } from "../model/format.js";
import { paintPicture } from "../render/picture.js";
import { readTheme } from "../render/theme.js";
import { element, required, setText } from "../render/dom.js";

const PICTURE_HEIGHT_PX = 84;

export function openLabs({ document, root, window, fetcher, now }) {
  const requests = makeRequests(fetcher, "");
  const list = required(root, "[data-part=list]");
  const status = required(root, "[data-part=status]");
  const dialog = required(root, "[data-part=delete-dialog]");
  const failure = required(root, "[data-part=failure]");
  const tokens = new Map(ownLabs(window).map(({ id, token }) => [id, token]));
  let labs = [];
  let more = 0;
  let doomed = null;

  required(dialog, "[data-act=delete]").addEventListener("click", remove);
  new window.ResizeObserver(paint).observe(root);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  load();

  async function load() {
    const asked = [...tokens].slice(0, Number(root.dataset.asked)).map(([id, token]) => ({ id, token }));
    const answer = asked.length ? await attempt(() => requests.post(root.dataset.list, { labs: asked })) : { labs: [], gone: [], more: 0 };
    if (!answer) {
      setText(status, "");
      return;
    }
    for (const id of answer.gone) forgetToken(id, window);
    labs = answer.labs;
    more = answer.more;
    write(answer.gone.length ? `${counted(answer.gone.length, "lab is", "labs are")} no longer there.` : "");
  }

  function write(words = "") {
    setText(status, [labs.length ? counted(labs.length, "lab") : "", more > 0 ? `${more} used earlier are not shown` : "", words].filter(Boolean).join(". "));
    required(root, "[data-part=none]").hidden = labs.length > 0;
    list.replaceChildren(...labs.map(card));
    paint();
  }

  function card(lab) {
    const acts = [
      ["Rename", () => rename(lab)],
      ["Copy owner's link", () => copyLink(lab)],
      ["Take a copy", () => takeCopy(lab)],
      ["Delete", () => ask(lab)],
    ];
    return element(document, "li.lab-card", { "data-lab": lab.id }, [
      element(document, "a.look", { href: lab.url, tabindex: -1, "aria-hidden": "true" }, [lab.picture?.lanes?.length || lab.picture?.group ? element(document, "canvas.picture", { "data-picture": lab.id }) : element(document, "span.picture.empty", { text: "not opened yet" })]),
      element(document, "div.words", {}, [
        element(document, "h2", {}, [element(document, "a", { href: lab.url, text: lab.title })]),
        element(document, "p.soft", { text: factsOfLab(lab) }),
        element(document, "p.quiet", {}, [element(document, "time", { datetime: lab.used_at, title: new Date(lab.used_at).toLocaleString(), text: `used ${ago(lab.used_at, now())}` }), `, made ${ago(lab.created_at, now())}`, ...(lab.failed ? [element(document, "b.harm-text", { text: " · stopped by a mistake of ours" })] : [])]),
        element(document, "p.acts", {}, acts.map(([text, onclick]) => element(document, "button", { type: "button", "aria-label": `${text}: ${lab.title}`, text, onclick }))),
      ]),
    ]);
  }

  const cardOf = (lab) => list.querySelector(`[data-lab="${lab.id}"]`);

  function rename(lab) {
    const heading = cardOf(lab).querySelector("h2");
    const input = element(document, "input", { value: lab.title, maxlength: 200, "aria-label": "Title", autocomplete: "off" });
    const form = element(document, "form.rename", {}, [input, element(document, "button", { type: "submit", text: "Save" }), element(document, "button", { type: "button", text: "Leave it", onclick: () => back() })]);
    const back = () => {
      form.replaceWith(heading);
      cardOf(lab).querySelector(".acts button").focus();
    };
    form.addEventListener("keydown", (event) => event.key === "Escape" && back());
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const answer = await attempt(() => requests.post(`${lab.url}rename/`, { token: tokens.get(lab.id), title: input.value }));
      if (!answer) return;
      lab.title = answer.title;
      write("Renamed.");
      cardOf(lab).querySelector(".acts button").focus();
    });
    heading.replaceWith(form);
    input.select();
  }

  async function copyLink(lab) {
    const link = `${window.location.origin}${lab.url}#token=${tokens.get(lab.id)}`;
    try {
      await window.navigator.clipboard.writeText(link);
      setText(status, `The owner's link of “${lab.title}” is copied: give it away as you would a key.`);
    } catch {
      setText(status, `This is the owner's link: ${link}`);
    }
  }

  async function takeCopy(lab) {
    const made = await attempt(() => requests.post(`${lab.url}copy/`, {}));
    if (!made) return;
    keepToken(made.id, made.token, window);
    window.location.assign(`${made.url}#token=${made.token}`);
  }

  function ask(lab) {
    doomed = lab;
    setText(required(dialog, "[data-part=delete-title]"), `Delete “${lab.title}”?`);
    setText(required(dialog, "[data-part=delete-words]"), lossOf(lab));
    dialog.showModal();
  }

  async function remove() {
    const lab = doomed;
    dialog.close();
    if (!(await attempt(() => requests.post(`${lab.url}delete/`, { token: tokens.get(lab.id) })))) return;
    forgetToken(lab.id, window);
    tokens.delete(lab.id);
    const place = labs.indexOf(lab);
    labs = labs.filter((other) => other !== lab);
    write(`“${lab.title}” is deleted.`);
    (list.children[Math.min(place, labs.length - 1)]?.querySelector("h2 a") ?? required(root, "[data-part=none] a")).focus();
  }

  async function attempt(work) {
    failure.hidden = true;
    try {
      return await work();
    } catch (reason) {
      failure.textContent = `${reason.message} ${reason.hint ?? ""}`;
      failure.hidden = false;
      return null;
    }
  }

  function paint() {
    const theme = readTheme(window.getComputedStyle(document.documentElement));
    for (const canvas of list.querySelectorAll("[data-picture]")) {
      const lab = labs.find((one) => one.id === canvas.dataset.picture);
      const width = canvas.parentElement.clientWidth; // a canvas keeps the width it was painted with
      if (width) paintPicture(canvas, lab.picture, theme, { ratio: window.devicePixelRatio || 1, width, height: PICTURE_HEIGHT_PX });
    }
  }
}
