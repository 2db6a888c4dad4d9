/** The list of events that only one of two runs has, in order of time. A click goes there in both and shows the causes of the event. */

import { seconds } from "../model/format.js";
import { plainWordsOf } from "../model/row_words.js";
import { element, required } from "../render/dom.js";

const SIDES = ["left", "right"];

/**
 * @param {{document: Document, root: HTMLElement, clock: {seek: (at_us: number) => void}, labs: any[]}} parts
 * @param {{first: any, events: {at_us: number, side: string, row: any}[], more: boolean}} found
 */
export function makeDifferences({ document, root, clock, labs }, found) {
  const list = required(root, "[data-part=differences]");
  const lines = found.events.map((event) => lineOf(event));
  list.replaceChildren(...lines.map(({ node }) => node));
  required(root, "[data-part=differences-title]").hidden = lines.length === 0;
  required(root, "[data-part=more]").hidden = !found.more;
  let chosen = -1;
  for (const [act, by] of Object.entries({ previous: -1, next: 1 })) {
    const button = required(root, `button[data-act=${act}]`);
    button.disabled = lines.length === 0;
    button.addEventListener("click", () => choose(Math.max(0, Math.min(lines.length - 1, chosen + by))));
  }

  function lineOf(event) {
    const at = found.events.indexOf(event);
    const words = plainWordsOf(event.row, labs[SIDES.indexOf(event.side)].getState());
    const name = event.side === "left" ? "only the first" : "only the second";
    const button = element(document, "button.plain", { type: "button", onclick: () => choose(at) }, [element(document, "span.instant", { text: `${seconds(event.at_us)} s` }), element(document, "span.side", { text: name }), ` ${words}`]);
    return { node: element(document, `li.${event.side}`, {}, [button]), button, event };
  }

  function choose(at) {
    if (!lines[at]) return;
    lines[chosen]?.button.removeAttribute("aria-current");
    chosen = at;
    const { event, button } = lines[at];
    button.setAttribute("aria-current", "true");
    button.scrollIntoView({ block: "nearest" });
    clock.seek(event.at_us);
    showRow(labs[SIDES.indexOf(event.side)], event);
  }

  return {
    /** Goes to the first difference at an instant or after it; to the instant itself if there is none. @param {number} at_us */
    from(at_us) {
      const at = found.events.findIndex((event) => event.at_us >= at_us);
      if (at < 0) clock.seek(at_us);
      else choose(at);
    },
  };
}

/** Highlights the event as soon as the lab has run to its instant. */
function showRow(lab, event, left = 100) {
  if (lab.getState().at_us >= event.at_us) lab.showRow(event.row.seq);
  else if (left > 0) setTimeout(() => showRow(lab, event, left - 1), 100);
}
