/** The headline sentence with the target as a choice, and the line below. Announced to screen readers at most once a second. */

import { protocolOf } from "../protocols/table.js";
import { plainSentence, secondSentence, sentenceOf } from "../model/sentence.js";
import { element, putParts, required, setText } from "./dom.js";

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
