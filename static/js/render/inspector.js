/** The inspector: shows details of one thing at the side of the page, not modal. Protocols provide the content. */

import { element, required } from "./dom.js";
import { termLink } from "./terms.js";

export function makeInspector(document, root) {
  const panel = makePanel(document, root);
  let asked = 0;
  let quiet = false; // while the page follows a presenter, the focus stays where the reader has it

  /**
   * Shows details that the server provides: the heading at once, the nodes when the answer arrives. A later call replaces them.
   * @param {string} heading
   * @param {() => Promise<object>} ask
   * @param {(answer: object) => {heading: string, nodes: Node[], term: string}} write
   * @param {object} thing what is shown, as the protocol's `look` takes it
   */
  async function showAnswer(heading, ask, write, thing) {
    const own = ++asked;
    const how = { thing, quietly: quiet };
    panel.open(heading, [element(document, "p.quiet", { text: "Loading…" })], how);
    let answer;
    try {
      answer = await ask();
    } catch (reason) {
      if (own === asked) panel.open(heading, [element(document, "p", { text: `${reason.message} ${reason.hint ?? ""}` })], how);
      return;
    }
    if (own !== asked) return;
    const written = write(answer);
    panel.open(written.heading, written.nodes, { term: written.term, ...how });
  }

  /** @param {string} heading @param {Node[]} nodes @param {string} term glossary term that the heading links to @param {object} thing as for showAnswer */
  function showFacts(heading, nodes, term, thing) {
    asked += 1;
    panel.open(heading, nodes, { term, thing, quietly: quiet });
  }

  /** Runs a function that opens the inspector, without moving the focus there. @param {() => void} run */
  function quietly(run) {
    quiet = true;
    try {
      run();
    } finally {
      quiet = false;
    }
  }

  return { showAnswer, showFacts, quietly, close: panel.close, isOpen: panel.isOpen, shown: panel.shown };
}

/** The panel with heading and nodes; closing it moves the focus back. */
function makePanel(document, root) {
  const panel = required(root, "[data-part=inspector]");
  const title = required(root, "[data-part=inspector-title]");
  const body = required(root, "[data-part=inspector-body]");
  let focused_before = null;
  let shown = null;
  required(panel, "[data-act=inspector-close]").addEventListener("click", close);
  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault(); // so that the page's own Esc does not clear the highlight
    close();
  });

  function close() {
    panel.hidden = true;
    shown = null;
    focused_before?.focus?.();
    focused_before = null;
  }

  /** @param {string} heading @param {Node[]} nodes @param {{term?: string, thing: object, quietly: boolean}} how */
  function open(heading, nodes, { term = heading, thing, quietly }) {
    title.replaceChildren(termLink(document, heading, term));
    body.replaceChildren(...nodes);
    if (panel.hidden && !quietly) focused_before = document.activeElement;
    panel.hidden = false;
    shown = thing;
    if (!quietly) panel.focus();
  }

  return { open, close, isOpen: () => !panel.hidden, shown: () => shown };
}
