/** The page “My labs”: a list with small pictures, most recently used first; rename, links, copy, delete after confirmation. */

import { counted, seconds } from "../model/format.js";
import { allOf, element, found, required, setText } from "../render/dom.js";
import { paintPicture } from "../protocols/light_table.js";
import { readTheme } from "../render/theme.js";
import { makeRequests } from "../wire/http.js";
import { forgetToken, keepToken, ownLabs } from "../wire/token.js";

/** The facts that lists of labs show about each lab. */

/** @type {[limit_s: number, unit: string, size_s: number][]} */
const STEPS = [
  [60, "second", 1],
  [3600, "minute", 60],
  [86_400, "hour", 3600],
  [2_592_000, "day", 86_400],
  [31_536_000, "month", 2_592_000],
  [Infinity, "year", 31_536_000],
];

/** @param {string} iso @param {number} now_ms @returns {string} "3 minutes ago" */
export function ago(iso, now_ms) {
  const since_s = Math.max(0, (now_ms - Date.parse(iso)) / 1000);
  if (since_s < 10) return "just now";
  const [, unit, size] = STEPS.find(([limit]) => since_s < limit);
  return `${counted(Math.floor(since_s / size), unit)} ago`;
}

/** @returns {string} "region-down · seed 1 · at 5.840 s · 3 commands · branch 1" */
export const factsOfLab = (lab) =>
  [lab.scenario, `seed ${lab.seed}`, `at ${seconds(lab.at_us)} s`, lab.commands ? counted(lab.commands, "command") : null, lab.branch ? `branch ${lab.branch}` : null].filter(Boolean).join(" · ");

/** @returns {string} what is deleted together with the lab, for the confirmation */
export const lossOf = (lab) =>
  `It is at ${seconds(lab.at_us)} s${lab.commands ? `; the ${counted(lab.commands, "command")} given to it, its branches and its reports are deleted too` : "; its reports are deleted too"}. Its links stop working. The same scenario with seed ${lab.seed} can be opened again.`;

/** The card of one lab in “My labs”: its picture, its facts, its buttons, and the form that renames it. */

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

const PICTURE_HEIGHT_PX = 84;

/** @param {{document: Document, root: HTMLElement, window: import("../render/dom.js").PageWindow, fetcher: typeof fetch, now: () => number}} parts */
export function openLabs({ document, root, window, fetcher, now }) {
  const requests = makeRequests(fetcher, "");
  const status = required(root, "[data-part=status]");
  const tokens = new Map(ownLabs(window).map(({ id, token }) => [id, token]));
  const attempt = attempting(required(root, "[data-part=failure]"));
  const sharing = makeSharing({ window, requests, tokens, attempt, say: (words) => setText(status, words) });
  const deletion = makeDeletion(root, remove);
  const list = makeList({ document, root, window, now, actsOf });

  new window.ResizeObserver(list.paint).observe(root);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", list.paint);
  load();

  function actsOf(lab) {
    return [
      ["Rename", () => renameInPlace(document, list.headingOf(lab), lab.title, { onBack: () => list.focusActs(lab), onSave: (title) => rename(lab, title) })],
      ["Copy owner's link", () => sharing.copyLink(lab)],
      ["Take a copy", () => sharing.takeCopy(lab)],
      ["Delete", () => deletion.ask(lab)],
    ];
  }

  async function load() {
    const asked = [...tokens].slice(0, Number(root.dataset.asked)).map(([id, token]) => ({ id, token }));
    const answer = asked.length ? await attempt(() => requests.post(root.dataset.list, { labs: asked })) : { labs: [], gone: [], more: 0 };
    if (!answer) {
      setText(status, "");
      return;
    }
    for (const id of answer.gone) forgetToken(id, window);
    list.fill(answer.labs, answer.more);
    write(answer.gone.length ? `${counted(answer.gone.length, "lab is", "labs are")} no longer there.` : "");
  }

  function write(words = "") {
    setText(status, [list.facts(), words].filter(Boolean).join(". "));
    list.write();
  }

  async function rename(lab, title) {
    const answer = await attempt(() => requests.post(`${lab.url}rename/`, { token: tokens.get(lab.id), title }));
    if (!answer) return;
    lab.title = answer.title;
    write("Renamed.");
    list.focusActs(lab);
  }

  async function remove(lab) {
    if (!(await attempt(() => requests.post(`${lab.url}delete/`, { token: tokens.get(lab.id) })))) return;
    forgetToken(lab.id, window);
    tokens.delete(lab.id);
    const place = list.drop(lab);
    write(`“${lab.title}” is deleted.`);
    list.focusAt(place);
  }
}

/** The cards and their pictures, which are redrawn when their size or the colours change. */
function makeList({ document, root, window, now, actsOf }) {
  const list = required(root, "[data-part=list]");
  const none = required(root, "[data-part=none]");
  let labs = [];
  let more = 0;
  const cardOf = (lab) => required(list, `[data-lab="${lab.id}"]`);

  function paint() {
    const theme = readTheme(window.getComputedStyle(document.documentElement));
    for (const canvas of allOf(list, "canvas[data-picture]")) {
      const lab = labs.find((one) => one.id === canvas.dataset.picture);
      const width = canvas.parentElement.clientWidth; // a canvas keeps the width with which it was painted
      if (width) paintPicture(canvas, lab.picture, theme, { ratio: window.devicePixelRatio || 1, width, height: PICTURE_HEIGHT_PX });
    }
  }

  return {
    paint,
    fill: (next, left_out) => ([labs, more] = [next, left_out]),
    facts: () => [labs.length ? counted(labs.length, "lab") : "", more > 0 ? `${more} used earlier are not shown` : ""].filter(Boolean).join(". "),
    write() {
      none.hidden = labs.length > 0;
      list.replaceChildren(...labs.map((lab) => labCard(document, lab, now, actsOf(lab))));
      paint();
    },
    /** @returns {number} the former index of the lab */
    drop(lab) {
      const place = labs.indexOf(lab);
      labs = labs.filter((other) => other !== lab);
      return place;
    },
    headingOf: (lab) => required(cardOf(lab), "h2"),
    focusActs: (lab) => required(cardOf(lab), ".acts button").focus(),
    focusAt(place) {
      const card = list.children[Math.min(place, labs.length - 1)];
      ((card && found(card, "h2 a")) ?? required(none, "a")).focus();
    },
  };
}

/** The actions that share a lab: copying the owner's link, and creating a copy of the lab. */
function makeSharing({ window, requests, tokens, attempt, say }) {
  return {
    async copyLink(lab) {
      const link = `${window.location.origin}${lab.url}#token=${tokens.get(lab.id)}`;
      try {
        await window.navigator.clipboard.writeText(link);
        say(`The owner's link of “${lab.title}” is copied. Treat it like a password.`);
      } catch {
        say(`This is the owner's link: ${link}`);
      }
    },
    async takeCopy(lab) {
      const made = await attempt(() => requests.post(`${lab.url}copy/`, {}));
      if (!made) return;
      keepToken(made.id, made.token, window);
      window.location.assign(`${made.url}#token=${made.token}`);
    },
  };
}

/** The confirmation before a lab is deleted. */
function makeDeletion(root, onDelete) {
  const dialog = required(root, "dialog[data-part=delete-dialog]");
  let asked = null;
  required(dialog, "[data-act=delete]").addEventListener("click", () => {
    dialog.close();
    onDelete(asked);
  });
  return {
    ask(lab) {
      asked = lab;
      setText(required(dialog, "[data-part=delete-title]"), `Delete “${lab.title}”?`);
      setText(required(dialog, "[data-part=delete-words]"), lossOf(lab));
      dialog.showModal();
    },
  };
}

/** @returns {<T>(work: () => Promise<T>) => Promise<T | null>} runs `work`; shows its error in `failure` and returns null if it failed */
function attempting(failure) {
  return async (work) => {
    failure.hidden = true;
    try {
      return await work();
    } catch (reason) {
      failure.textContent = `${reason.message} ${reason.hint ?? ""}`;
      failure.hidden = false;
      return null;
    }
  };
}

const root = globalThis.document && found(document, "[data-labs]"); // Node\'s tests have no document
if (root) openLabs({ document, root, window, fetcher: (address, options) => fetch(address, options), now: () => Date.now() });
