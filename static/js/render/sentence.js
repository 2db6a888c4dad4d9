/** The headline sentence with the target as a choice and the line below, and the text view. Announced to screen readers at most once a second. */

import { seconds } from "../model/format.js";
import { protocolOf } from "../protocols/table.js";
import { element, putParts, required, setText } from "./dom.js";

/**
 * The headline sentence of the page, as parts: plain text, {strong}, {harm}, {soft} and {pick}.
 * {pick} is the target, which the viewer may change. Every figure is counted by the engine, none is derived from the drawing.
 */

/** @typedef {import("../model/format.js").TextPart} Part */

/**
 * @param {import("../model/state.js").LabState} state
 * @param {object | null} watched
 * @returns {Part[]}
 */
export function sentenceOf(state, watched) {
  return state.view && watched ? protocolOf(state).sentence(state, watched) : ["Connecting…"];
}

/** @returns {Part[] | null} the line under the sentence, where the protocol has one */
export const secondSentence = (state, watched) => (state.view && watched ? (protocolOf(state).secondSentence?.(state, watched) ?? null) : null);

/** @returns {string} the parts as one plain sentence, for the live region and the title */
export const plainSentence = (parts) => parts.map((part) => (typeof part === "string" ? part : (part.strong ?? part.harm ?? part.soft ?? part.pick))).join("");

const ANNOUNCED_EVERY_MS = 1000;

/**
 * @param {Document} document
 * @param {HTMLElement} root
 * @param {(target: string) => void} onTarget
 */
export function makeSentence(document, root, onTarget) {
  const heading = required(root, "[data-part=sentence]");
  const second = required(root, "[data-part=second]");
  const announced = required(root, "[data-part=announced]");
  let shown = "";
  let announced_ms = -Infinity;

  function piece(part) {
    if (typeof part === "string") return part;
    if (part.strong) return element(document, "b", { text: part.strong });
    if (part.harm) return element(document, "b.harm-text", { text: part.harm });
    if (part.soft) return element(document, "span.soft", { text: part.soft });
    return picker(part);
  }

  function picker({ pick, choices }) {
    if (choices.length < 2) return element(document, "b", { text: pick });
    const select = element(
      document,
      "select.pick",
      { "aria-label": "the region that would take over", onchange: (event) => onTarget(event.target.value) },
      choices.map((name) => element(document, "option", { text: name, value: name, selected: name === pick })),
    );
    return element(document, "span.picked", {}, [select]);
  }

  return {
    update(state, watched, wall_ms) {
      const parts = sentenceOf(state, watched);
      const key = JSON.stringify(parts);
      if (key !== shown && root.ownerDocument.activeElement?.closest?.(".picked") === null) {
        shown = key;
        heading.replaceChildren(...parts.map(piece));
      } else if (key !== shown) {
        shown = key;
        updateAround(heading, parts, piece);
      }
      const more = secondSentence(state, watched);
      if (more) putParts(document, second, more.map((part) => (typeof part !== "string" && part.pick ? { strong: part.pick } : part)));
      second.hidden = !more;
      root.classList.toggle("moved", more !== null && askOf(state, watched)); // the scenario's hint is then replaced by the next forecast
      if (wall_ms - announced_ms >= ANNOUNCED_EVERY_MS) {
        announced_ms = wall_ms;
        setText(announced, plainSentence(parts));
      }
    },
  };
}

/** Whether the line with questions about what happened is shown. */
const askOf = (state, watched) => protocolOf(state).ask(state, watched).shown;

/** While the choice has the focus, its element is kept and only the nodes around it are replaced. */
function updateAround(heading, parts, piece) {
  const picked = heading.querySelector(".picked");
  const at = parts.findIndex((part) => part.pick);
  if (!picked || at < 0) {
    heading.replaceChildren(...parts.map(piece));
    return;
  }
  for (const node of [...heading.childNodes]) if (node !== picked) node.remove();
  picked.before(...parts.slice(0, at).map(piece));
  picked.after(...parts.slice(at + 1).map(piece));
}

/**
 * Builds the text view: the content of the diagram as headings and lists of plain sentences.
 * It is for screen readers and for viewers who press T. It depends on the state alone, so it cannot differ from the picture.
 */

/**
 * @param {import("../model/state.js").LabState} state
 * @param {object} watched
 * @returns {{title: string, lines: string[]}[]}
 */
export function mirrorOf(state, watched) {
  if (!state.view || !watched) return [];
  const head = { title: `At ${seconds(state.at_us)} s`, lines: [plainSentence(sentenceOf(state, watched)), state.playing ? `Playing at ${state.speed} times real time.` : "Paused."] };
  return [head, ...protocolOf(state).mirror(state, watched)];
}

/** The text view, always in the page for screen readers; key T makes it visible. Updated at most once a second. */

const EVERY_MS = 1000;

export function makeMirror(document, root) {
  const box = required(root, "[data-part=mirror]");
  const words = required(root, "[data-part=words]");
  let written_ms = -Infinity;
  let shown = "";
  return {
    update(state, watched, wall_ms) {
      if (wall_ms - written_ms < EVERY_MS && state.playing) return;
      const sections = mirrorOf(state, watched);
      const key = JSON.stringify(sections);
      if (key === shown) return;
      shown = key;
      written_ms = wall_ms;
      words.replaceChildren(...sections.flatMap(({ title, lines }) => [element(document, "h3", { text: title }), element(document, "ul", {}, lines.map((line) => element(document, "li", { text: line })))]));
    },
    toggle() {
      box.classList.toggle("sr");
      const open = !box.classList.contains("sr");
      if (open) box.focus();
      return open;
    },
  };
}
