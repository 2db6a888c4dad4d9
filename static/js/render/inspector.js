/** A look inside one thing, at the side of the page and not modal: the diagram stays in view. Protocols make what it shows. */

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
    event.preventDefault(); // the page's own Esc then leaves the light as it is
    close();
  });
  let came_from = null;

  function close() {
    panel.hidden = true;
    came_from?.focus?.();
  }

  function open(heading, nodes, term = heading) {
    title.replaceChildren(termLink(document, heading, term));
    body.replaceChildren(...nodes);
    if (panel.hidden) came_from = document.activeElement;
    panel.hidden = false;
    panel.focus();
  }

  /**
   * Facts that the server knows: the heading at once, the nodes when the answer is there. A later look replaces it.
   * @param {string} heading
   * @param {() => Promise<object>} ask
   * @param {(answer: object) => {heading: string, nodes: Node[], term: string}} write
   */
  async function showAnswer(heading, ask, write) {
    const mine = ++asked;
    open(heading, [element(document, "p.quiet", { text: "Asking the server…" })]);
    let answer;
    try {
      answer = await ask();
    } catch (reason) {
      if (mine === asked) open(heading, [element(document, "p", { text: `${reason.message} ${reason.hint ?? ""}` })]);
      return;
    }
    if (mine !== asked) return;
    const written = write(answer);
    open(written.heading, written.nodes, written.term);
  }

  /** @param {string} heading @param {Node[]} nodes @param {string} term that the heading leads to in the glossary */
  function showFacts(heading, nodes, term) {
    asked += 1;
    open(heading, nodes, term);
  }

  return { showAnswer, showFacts, close, isOpen: () => !panel.hidden };
}
