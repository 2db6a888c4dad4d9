/** The inspector: shows details of one thing at the side of the page, not modal. Protocols provide the content. */

import { element, required } from "./dom.js";
import { termLink } from "./terms.js";

export function makeInspector(document, root) {
  const panel = required(root, "[data-part=inspector]");
  const title = required(root, "[data-part=inspector-title]");
  const body = required(root, "[data-part=inspector-body]");
  let asked = 0;
  required(panel, "[data-act=inspector-close]").addEventListener("click", close);
  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault(); // so that the page's own Esc does not clear the highlight
    close();
  });
  let focused_before = null;

  function close() {
    panel.hidden = true;
    focused_before?.focus?.();
  }

  function open(heading, nodes, term = heading) {
    title.replaceChildren(termLink(document, heading, term));
    body.replaceChildren(...nodes);
    if (panel.hidden) focused_before = document.activeElement;
    panel.hidden = false;
    panel.focus();
  }

  /**
   * Shows details that the server provides: the heading at once, the nodes when the answer arrives. A later call replaces them.
   * @param {string} heading
   * @param {() => Promise<object>} ask
   * @param {(answer: object) => {heading: string, nodes: Node[], term: string}} write
   */
  async function showAnswer(heading, ask, write) {
    const own = ++asked;
    open(heading, [element(document, "p.quiet", { text: "Loading…" })]);
    let answer;
    try {
      answer = await ask();
    } catch (reason) {
      if (own === asked) open(heading, [element(document, "p", { text: `${reason.message} ${reason.hint ?? ""}` })]);
      return;
    }
    if (own !== asked) return;
    const written = write(answer);
    open(written.heading, written.nodes, written.term);
  }

  /** @param {string} heading @param {Node[]} nodes @param {string} term glossary term that the heading links to */
  function showFacts(heading, nodes, term) {
    asked += 1;
    open(heading, nodes, term);
  }

  return { showAnswer, showFacts, close, isOpen: () => !panel.hidden };
}
